"""The words of a Slack message, wherever they stand: in its text, its blocks or its attachments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from service.importers.fields import list_or_empty, object_or_empty
from service.importers.notices import PHRASES

STAND_IN = PHRASES.compile(r"\W{0,3}{stand_in}\W{0,3}")
DEEPEST = 8  # lists within lists
MARKS = {"user": "@", "channel": "#", "usergroup": "!subteam^", "broadcast": "!"}
OTHERS = ("from_url", "is_msg_unfurl", "is_share", "original_url", "service_name", "title_link", "bot_id", "app_id")


def written_in(message: dict[str, Any]) -> str:
    """Return the message in Slack's markup; its blocks and attachments where the text is empty or a stand-in.

    What unfolds below a link, or is shared from elsewhere, is a quote.
    """
    text = message.get("text")
    if isinstance(text, str) and text.strip() and not STAND_IN.fullmatch(text.strip()):
        return text
    written = "\n".join(_blocks(message.get("blocks")))
    if written.strip():
        return written
    attached = [object_or_empty(each) for each in list_or_empty(message.get("attachments"))]
    return "\n".join(line for each in attached for line in _attached(each))


def _attached(attachment: dict[str, Any]) -> Iterator[str]:
    lines = list(_blocks(attachment.get("blocks"))) or [str(attachment.get("text") or attachment.get("fallback") or "")]
    mark = "&gt; " if any(attachment.get(field) for field in OTHERS) else ""
    return (mark + line for text in lines for line in text.split("\n"))


def _blocks(blocks: Any, depth: int = 0) -> Iterator[str]:
    """Yield a text for each block, list item, quote and piece of code."""
    for block in map(object_or_empty, list_or_empty(blocks)):
        kind, elements = block.get("type"), list_or_empty(block.get("elements"))
        if kind in ("rich_text", "rich_text_list") and depth < DEEPEST:
            items = list(_blocks(elements, depth + 1))
            if kind == "rich_text_list":
                numbered = block.get("style") == "ordered"
                items = [f"{f'{number}.' if numbered else '•'} {item}" for number, item in enumerate(items, start=1)]
            yield from items
        elif kind in ("rich_text_section", "rich_text_quote", "rich_text_preformatted"):
            text = "".join(_piece(object_or_empty(element)) for element in elements).strip("\n")
            yield text.replace("\n", "\n&gt; ").join(("&gt; ", "")) if kind == "rich_text_quote" else text
        elif kind in ("section", "header", "markdown"):
            for text in (block.get("text"), *list_or_empty(block.get("fields"))):
                yield str(text.get("text") or "") if isinstance(text, dict) else str(text or "")


def _piece(element: dict[str, Any]) -> str:
    """An element of a line, as the markup of a text has it."""
    kind = element.get("type")
    if kind == "emoji":
        return f":{element.get('name')}:"
    if kind in MARKS:
        return f"<{MARKS[kind]}{element.get(f'{kind}_id') or element.get('range')}>"
    text = str(element.get("text") or element.get("fallback") or element.get("url") or "")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
