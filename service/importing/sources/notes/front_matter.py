"""Reading a note's metadata: YAML or TOML front matter, and the properties of Notion, Logseq and Dataview."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

import yaml

from pearl.errors import InputError

MAX_DOTS = 500  # in a line of TOML: a key of thousands of parts takes time that grows with their square
MAX_BRACKETS = 1000  # in YAML: the parser looks at every open one again for each token
MAX_HEAD_CHARACTERS = 16_000  # more is no front matter, and parsers of TOML are slow with what is made to slow them
KEY_LINE = re.compile(r"([A-Za-z][\w \-]{0,40}):(?: +(.*))?$")
NOTION_HEAD = re.compile(r"# ([^\n]+)\n\n((?:[^\n]+\n)+)\n")
NOTION_PROPERTY = re.compile(r"([^\W\d][^:\n]{0,40}):(?: +(.*))?$")  # named in any language
# to another page or table of the export; on a line by itself it says nothing
NOTION_PAGE = r"\[([^\[\]\n]{1,500})\]\([^()\s]{0,1000}[0-9a-f]{32}(?:_all)?\.(?:md|csv)\)"
NOTION_LINK = re.compile(rf"^(?:[-*] )?{NOTION_PAGE}[ \t]*$|{NOTION_PAGE}", re.MULTILINE)
PROPERTY_LINE = re.compile(r"(?:- )?([A-Za-z][\w \-]{0,40}):: (.*)$")


class UnreadableHead(InputError):
    """Raised for front matter that cannot be parsed. ``body``: the text below it."""

    def __init__(self, reason: str, body: str) -> None:
        super().__init__(f"cannot be understood: {reason}", param="front matter", code="invalid_front_matter")
        self.body = body


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Split a note into its metadata, with names normalized by :func:`field_name`, and the text below. Raises
    UnreadableHead if there is front matter that cannot be parsed."""
    text = text.lstrip("\n")
    for read in (_yaml, _toml):
        split = read(text)
        if split is not None:
            fields, body = split
            return _normalized(fields), body
    return _normalized(_properties(text)), text


def split_notion(text: str) -> tuple[dict[str, Any], str]:
    """Split a Notion page into its database properties, which stand below its heading, and the text. Links to other
    pages are replaced by their words."""
    text = NOTION_LINK.sub(r"\2", text)
    match = NOTION_HEAD.match(text[:MAX_HEAD_CHARACTERS])
    properties = [NOTION_PROPERTY.match(line) for line in match[2].splitlines()] if match else []
    if match is None or len(properties) < 2 or not all(properties):  # one such line may well be a sentence
        return {}, text
    fields = {line[1]: (line[2] or "").partition(" \N{RIGHTWARDS ARROW} ")[0] for line in properties if line}
    return _normalized({**fields, "title": match[1]}), text[match.end() :]


def field_name(name: object) -> str:
    """Normalize a field's name: ``published_at``, ``publishedAt`` and "Published at" become the same name."""
    return re.sub(r"[\W_]", "", str(name)).lower()


def _normalized(fields: dict[Any, Any]) -> dict[str, Any]:
    return {field_name(name): value for name, value in fields.items()}


def _between(text: str, mark: str, other_end: str | None = None) -> tuple[str, str] | None:
    """Return the text between two marker lines and the text below them; None if there are none. ``other_end``: another
    form of the second marker."""
    if not re.match(re.escape(mark) + r"[ \t]*\n", text):
        return None
    start = text.index("\n") + 1
    end = re.compile(rf"^(?:{re.escape(mark)}|{re.escape(other_end or mark)})[ \t]*$", re.MULTILINE).search(text, start)
    return None if end is None else (text[start : end.start()], text[end.end() :].removeprefix("\n"))


def _yaml(text: str) -> tuple[dict[str, Any], str] | None:
    split = _between(text, "---", "...")  # the dots are pandoc's
    if split is None:
        return None
    head, body = split
    fields = _parsed(head, body, _yaml_fields)
    if not isinstance(fields, dict) or not fields:
        return None  # without fields it is only a line across the page
    return fields, body


def _yaml_fields(head: str) -> Any:
    if head.count("[") + head.count("{") > MAX_BRACKETS:
        raise ValueError(f"it has more than {MAX_BRACKETS:,} opening brackets")
    if "*" in head and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(head, Loader=yaml.CBaseLoader)):
        raise ValueError("it repeats parts of itself (aliases), which may be without measure")
    return yaml.load(head, Loader=yaml.CBaseLoader)


def _toml(text: str) -> tuple[dict[str, Any], str] | None:
    split = _between(text, "+++")
    return None if split is None else (_parsed(*split, _toml_fields), split[1])


def _toml_fields(head: str) -> dict[str, Any]:
    if any(line.count(".") > MAX_DOTS for line in head.split("\n")):
        raise ValueError(f"a line has more than {MAX_DOTS:,} dots")
    return tomllib.loads(head)


def _properties(text: str) -> dict[str, str]:
    """Return the ``name:: value`` properties of Logseq and Dataview at the beginning of a text."""
    fields = {}
    for line in text[:MAX_HEAD_CHARACTERS].split("\n"):
        match = PROPERTY_LINE.match(line.strip())
        if match:
            fields[match[1]] = match[2].strip()
        elif line.strip():
            break
    return fields


def _parsed(head: str, body: str, parse: Callable[[str], Any]) -> Any:
    try:
        if len(head) > MAX_HEAD_CHARACTERS:
            raise ValueError(f"it has {len(head):,} characters; the limit is {MAX_HEAD_CHARACTERS:,}")
        return parse(head)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        fields = {} if isinstance(error, RecursionError) else _single_lines(head)
        if fields:
            return fields
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UnreadableHead(reason, body) from None


def _single_lines(head: str) -> dict[str, str]:
    """Read the one-line fields of front matter that is not valid YAML, for example with a colon in a title."""
    fields = {}
    for line in head[:MAX_HEAD_CHARACTERS].split("\n"):
        match = KEY_LINE.match(line)
        if match and match[2] and match[2][0] not in "[{&*!|>%@`":
            fields[match[1]] = match[2].strip().strip("\"'")
    return fields
