"""Direct messages in X's archive: those that its owner sent, with the other person or the group."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

from pearl.errors import InputError
from pearl.files.json_stream import as_object
from pearl.text.usable import parse_timestamp
from service.importers.base import NO_TEXT, NOT_MINE, LeftOut, Options, SourceDocument
from service.importers.turns import Turns

PATTERNS = tuple(f"direct-message{form}.js" for form in ("", "s", "s-part*", "-group", "s-group", "s-group-part*"))
OF_PICTURES = "/messages/media/"
VOICE = "chat"  # unless --voice names one for all


def messages_of(
    conversation: dict[str, Any], people: Mapping[str, str], options: Options, where: str
) -> Iterator[SourceDocument | LeftOut]:
    """Read a conversation, of which the newest message stands first. ``people`` are names by the account's id."""
    name, turns = str(conversation.get("conversationId")), Turns()
    messages = conversation.get("messages")
    for value in reversed(messages if isinstance(messages, list) else []):
        try:
            message = as_object(as_object(value).get("messageCreate", {}))
            yield _item(message, name, turns, people, options, where)
        except InputError as error:
            yield LeftOut.because_of(error, where)


def _item(
    message: dict[str, Any], name: str, turns: Turns, people: Mapping[str, str], options: Options, where: str
) -> SourceDocument | LeftOut:
    if not message:  # somebody joined, left or renamed a group
        return LeftOut(where, "bot or system message")
    for field in ("id", "senderId", "createdAt"):
        if not isinstance(message.get(field), str):
            raise InputError(f"'{field}' is missing.", param=field, code="missing_field")
    text = message.get("text")
    own = with_links(html.unescape(text), message).strip() if isinstance(text, str) else ""
    seconds, sender = parse_timestamp(message["createdAt"], param="createdAt"), message["senderId"]
    if not options.identities.match(people.get(sender), sender, account=sender):
        turns.hear(own, seconds)
        return LeftOut(where, NOT_MINE)
    if not own:
        return LeftOut(where, NO_TEXT)
    two, heard = set(name.split("-")), turns.answered(seconds)
    other = next(iter(two - {sender}), None) if len(two) == 2 else None
    return options.document(
        where,
        f"x:dm:{message['id']}",
        own,
        seconds,
        heard if other else None,
        options.voice or VOICE,
        recipient=people.get(other, f"x:{other}") if other else f"x:{name}",
        thread=f"x:dm:{name}",
    )


def with_links(text: str, entities: Any) -> str:
    """The text with the addresses that were shortened, without those of its pictures."""
    found = entities if isinstance(entities, dict) else {}
    for kind in ("urls", "media"):
        for link in found.get(kind) or () if isinstance(found.get(kind), list) else ():
            if isinstance(link, dict) and isinstance(link.get("url"), str) and link["url"]:
                address = link.get("expanded_url") or link.get("expandedUrl") or link.get("expanded")
                of_picture = kind == "media" or not isinstance(address, str) or OF_PICTURES in address
                text = text.replace(link["url"], "" if of_picture else str(address))
    return text
