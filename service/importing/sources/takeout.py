"""Google Takeout: Gmail's mail and Google Chat's messages, from one zip file or folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from pearl.errors import InputError
from pearl.text.files.json_stream import JsonStream, as_object
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import (
    Archive,
    ArchiveImporter,
    DiskIndex,
    list_or_empty,
    missing_field,
    object_or_empty,
    string_or_none,
)
from service.importing.sources.base import (
    NO_TEXT,
    NOT_MINE,
    Item,
    Items,
    LeftOut,
    Options,
    SourceDocument,
    Turns,
    as_request,
    read_each,
)
from service.importing.sources.dates import date_in_form, read_date
from service.importing.sources.mbox import MboxImporter
from service.importing.sources.stamps import PLAIN

MAIL, CHAT = ("*.mbox",), ("google chat/*/*/messages.json", "groups/*/messages.json")
MAIL_VOICE, CHAT_VOICE = "email", "chat"  # unless --voice names one for both
DIRECT = "DM "  # with which the folder of a chat of two begins
WRITTEN = "%A, %B %d, %Y at %I:%M:%S %p UTC"


class TakeoutImporter(ArchiveImporter):
    name = "takeout"
    summary = "Google Takeout with Gmail and Google Chat, a zip file or folder."
    examples = ("pearl import takeout takeout-20260301-001.zip --user ann --me ann@example.org",)
    needs_me = True
    patterns = (*MAIL, *CHAT)
    missing = "there is neither mail nor Google Chat in it."

    def size(self, source: Path) -> int | None:
        return None  # its mail is read twice, when it is unpacked

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        with DiskIndex() as opened:
            yield from archive.each(archive.matching(*CHAT), lambda name: _read_chat(archive, name, opened, options))
        for item in MboxImporter().read(archive.source, options) if archive.matching(*MAIL) else ():
            yield _in_voice(item, options.voice or MAIL_VOICE) if isinstance(item, SourceDocument) else item


def _in_voice(item: SourceDocument, voice: str) -> SourceDocument:
    return replace(item, document=replace(item.document, voice=item.document.voice or voice))


def _read_chat(archive: Archive, name: str, opened: DiskIndex, options: Options) -> Iterator[Item]:
    folder = PurePosixPath(name).parent
    info, turns = _group(archive, str(folder / "group_info.json")), Turns() if folder.name.startswith(DIRECT) else None
    messages = archive.elements(name, "messages", options.advance)
    return read_each(messages, partial(_item, folder.name, info, turns, opened, options))


def _group(archive: Archive, name: str) -> dict[str, Any]:
    """Return the facts about a chat from its ``group_info.json``; empty if it cannot be read."""
    with suppress(InputError, KeyError), archive.open(name) as stream:
        return dict(JsonStream(stream).members(frozenset()))
    return {}


def _item(
    group: str, info: dict[str, Any], turns: Turns | None, opened: DiskIndex, options: Options, value: Any, where: str
) -> Item:
    message = as_object(value)
    creator = object_or_empty(message.get("creator"))
    email, own = creator.get("email"), (string_or_none(message.get("text")) or "").strip()
    if creator.get("user_type", "Human") != "Human":
        return LeftOut(where, "bot or system message")
    if message.get("message_state") == "DELETED":
        return LeftOut(where, "deleted or removed")
    seconds = _seconds(message.get("created_date"))
    topic = f"googlechat:{group}:{message['topic_id']}" if message.get("topic_id") else None
    answered = opened.get(topic) if topic else None  # None for the message that opens it
    if topic:
        opened.put(topic, own)
    if not options.identities.match(creator.get("name"), email, account=email):
        if turns:
            turns.hear(own, seconds)
        return LeftOut(where, NOT_MINE)
    if not own:
        return LeftOut(where, NO_TEXT)
    heard = turns.answered(seconds) if turns else None
    quote = string_or_none(object_or_empty(message.get("quoted_message_metadata")).get("text"))
    request = as_request(quote) or as_request(answered) or heard
    name = f"googlechat:{message.get('message_id') or f'{group}/{seconds}/' + chr(0) + own}"
    recipient = _recipient(info, creator, direct=turns is not None)
    return options.document(
        where, name, own, seconds, request, options.voice or CHAT_VOICE, recipient=recipient, thread=topic
    )


def _recipient(info: dict[str, Any], creator: dict[str, Any], *, direct: bool) -> str | None:
    """Return the other person of a chat between two people, else the space's name."""
    members = [one for one in list_or_empty(info.get("members")) if isinstance(one, dict)]
    others = [one for one in members if one.get("email") != creator.get("email")]
    named = others[0].get("email") or others[0].get("name") if direct and len(others) == 1 else info.get("name")
    return string_or_none(named)


def _seconds(value: Any) -> float:
    """Convert Google's date, in English or (more slowly) another language, to Unix seconds."""
    if not isinstance(value, str):
        raise missing_field("created_date")
    text = value.translate(PLAIN)
    moment = date_in_form(text, WRITTEN)
    return parse_timestamp(read_date(text) if moment is None else moment, param="created_date")
