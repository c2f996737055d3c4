"""Telegram: ``result.json``, to which Telegram Desktop exports one chat or all chats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pearl.text.files.json_stream import JsonStream, as_object
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import Archive, ArchiveImporter, DiskIndex, check_given
from service.importing.sources.base import NOT_MINE, Item, Items, LeftOut, Options, Turns, as_request, read_each
from service.importing.sources.notices import why_unsaid

CHATS = frozenset({"chats", "left_chats", "list"})  # around the chats of an export of all
FORWARDED = {"forwarded_from", "forwarded_from_id", "saved_from"}  # null where the account is gone
PERSON, BOT = "personal_chat", "bot_chat"


class TelegramImporter(ArchiveImporter):
    name = "telegram"
    summary = "Telegram Desktop's export as JSON (result.json), of one chat or of all."
    examples = (
        "pearl import telegram DataExport_2026-03-01/ --user ann --voice chat",
        "pearl import telegram ChatExport/result.json --user ann --me 'Ann Lee'",
    )
    needs_me = False  # an export of all chats says whose it is

    patterns = ("result*.json",)
    missing = (
        "is not Telegram's export as JSON; there is no result.json in it. An export as HTML cannot be read: choose "
        "'Machine-readable JSON'."
    )
    by_any_name = True

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        with DiskIndex() as written:
            yield from archive.each(names, lambda name: _read(archive, name, written, options))


@dataclass(slots=True)
class _Chat:
    """A chat while it is read: the facts that stand before its messages, and the messages so far."""

    written: DiskIndex  # text by chat and message, and the first message of a row of replies
    fields: dict[str, Any] = field(default_factory=dict)
    turns: Turns = field(default_factory=Turns)

    def key(self, message: Any) -> str:
        return f"telegram:{self.fields.get('id')}:{message}"

    @property
    def recipient(self) -> str | None:
        name = self.fields.get("name")
        return name if isinstance(name, str) and self.fields.get("type") != "saved_messages" else None


def _read(archive: Archive, name: str, written: DiskIndex, options: Options) -> Iterator[Item]:
    chat, number = _Chat(written), 0
    with archive.open(name, options.advance) as stream:
        for member, value in JsonStream(stream).members({"messages"}, within=CHATS):
            if member == "personal_information" and isinstance(value, dict) and value.get("user_id"):
                options.identities.add(f"user{value['user_id']}")
            elif member == "name" or (member == "type" and "type" in chat.fields):  # the next chat
                chat = _Chat(written, {member: value})
            elif member != "messages":
                chat.fields[member] = value if isinstance(value, (str, int)) else None
            else:
                options.check_me("the chat", "a name or id")
                number += 1
                yield from read_each([(f"{archive.where(name)}:{number}", value)], partial(_item, chat, options))


def _item(chat: _Chat, options: Options, value: Any, where: str) -> Item:
    message = as_object(value)
    if message.get("type") != "message" or message.get("via_bot") or chat.fields.get("type") == BOT:
        return LeftOut(where, "bot or system message")
    check_given(message, "id", "date")
    own, quoted = _parts(message.get("text") or message.get("text_entities"))
    unix = str(message.get("date_unixtime") or "")
    seconds = parse_timestamp(float(unix) if unix.isdecimal() else message["date"], param="date")
    if message.keys() & FORWARDED:
        return LeftOut(where, "forwarded")
    key, replied = chat.key(message["id"]), message.get("reply_to_message_id")
    chat.written.put(key, own)
    answered = chat.key(replied) if replied and not message.get("reply_to_peer_id") else None
    thread = (chat.written.get(f"{answered}/") or answered) if answered else None
    if thread:
        chat.written.put(f"{key}/", thread)
    sender = message.get("from_id")
    number = str(sender).removeprefix("user")
    if not options.identities.match(message.get("from"), str(sender), number, account=str(sender)):
        chat.turns.hear(own, seconds)
        return LeftOut(where, NOT_MINE)
    if reason := why_unsaid(own):
        return LeftOut(where, reason)
    heard = chat.turns.answered(seconds) if chat.fields.get("type") == PERSON else None
    request = as_request(chat.written.get(answered)) if answered else heard
    return options.document(
        where, key, own, seconds, request or as_request(quoted), recipient=chat.recipient, thread=thread
    )


def _parts(text: Any) -> tuple[str, str]:
    """Separate own words from quoted ones. A text is a string, or a list in which formatted pieces are objects."""
    own, quoted = "", ""
    for piece in text if isinstance(text, list) else [text]:
        marked = piece if isinstance(piece, dict) else {"text": piece}
        words = marked.get("text")
        if isinstance(words, str) and marked.get("type") == "blockquote":
            quoted += words
        elif isinstance(words, str):
            own += words
    return own.strip(), quoted.strip()
