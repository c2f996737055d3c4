"""Discord: the data package one can request from Discord, and the JSON files of DiscordChatExporter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pearl.errors import InputError
from pearl.records import Document
from pearl.texts import parse_timestamp
from service.importers.archive import Archive, open_archive
from service.importers.base import NO_TEXT, NOT_MINE, Found, Items, LeftOut, Options, Remark
from service.importers.conversations import MAX_MESSAGES, Said, prose, what_was_said, why_no_prose
from service.importers.csv_rows import read_rows
from service.importers.disk_index import DiskIndex
from service.importers.identities import Identities
from service.importers.ids import stable_id
from service.importers.json_arrays import as_object, read_array, read_object
from service.importers.quotes import split_quotes
from service.importers.requests import as_request

PACKAGE_FILES = ("c[0-9]*/messages.json", "c[0-9]*/messages.csv", "[0-9]*/messages.json", "[0-9]*/messages.csv")
WRITTEN_TYPES = ("Default", "Reply")
EMOJI = re.compile(r"<a?(:\w+:)\d+>")
MENTION = re.compile(r"<([@#])[!&]?\d+>")


class DiscordImporter:
    name = "discord"
    summary = "Discord's data package, or JSON of DiscordChatExporter."
    examples = (
        "pearl import discord package.zip --user ann --voice chat",
        "pearl import discord 'Tea - general.json' --user ann --me ann_lee",
    )
    unit = "bytes"
    needs_user = True
    needs_me = False  # a data package holds only its owner's messages
    stable_ids = True
    template = "message"

    def size(self, source: Path) -> int | None:
        with open_archive(source) as archive:
            package = archive.matching(*PACKAGE_FILES)
            exported = archive.matching("*.json")
            return sum(archive.files[name] * (1 if package else 2) for name in package or exported)

    def read(self, source: Path, options: Options) -> Items:
        with open_archive(source) as archive:
            package = archive.matching(*PACKAGE_FILES)
            exported = archive.matching("*.json")
            if package:
                yield from _owner(archive, options)
                yield from _read_package(archive, package, options)
            elif exported:
                yield from _read_exported(archive, exported, options)
            else:
                raise InputError(
                    f"{source}: is neither a Discord data package nor JSON of DiscordChatExporter.",
                    code="not_an_export",
                )


def _owner(archive: Archive, options: Options) -> Iterator[Remark]:
    """Tells whose package it is. Raises InputError when it is not that of ``me``."""
    for name in archive.matching("account/user.json")[:1]:
        with archive.open(name) as stream:
            account = read_object(stream)
        names = [account.get(key) for key in ("global_name", "username", "email", "id")]
        tag = f"{account.get('username')}#{account.get('discriminator')}"
        shown = next((each for each in names if isinstance(each, str) and each), "somebody")
        if options.me and not options.identities.match(*names, tag):
            raise InputError(
                f"{archive.source}: is the data package of {shown}, who is not --me {', '.join(options.me)}.",
                param="me",
                code="another_person",
            )
        yield Remark(f"The package is that of {shown}.")


def _read_package(archive: Archive, names: list[str], options: Options) -> Iterator[Found | LeftOut]:
    for name in names:
        try:
            with archive.open(name, options.advance) as stream:
                messages = _json_messages(stream) if name.lower().endswith(".json") else _csv_messages(stream)
                for number, message in messages:
                    yield _package_item(message, options, f"{archive.where(name)}:{number}")
        except InputError as error:
            yield LeftOut.because_of(error, archive.where(name))


def _json_messages(stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
    yield from enumerate(read_array(stream), start=1)


def _csv_messages(stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
    for row in read_rows(stream, ("ID", "Timestamp", "Contents")):
        yield row.line, row.value


def _package_item(message: Any, options: Options, where: str) -> Found | LeftOut:
    """The package does not say what a message answered; only a quote in it does."""
    if isinstance(message, InputError):
        return LeftOut.because_of(message, where)
    try:
        fields = as_object(message)
        return _item(fields, "ID", "Timestamp", "Contents", None, options, where)
    except InputError as error:
        return LeftOut.because_of(error, where)


def _read_exported(archive: Archive, names: list[str], options: Options) -> Iterator[Found | LeftOut]:
    me = options.identities
    if not me:
        raise InputError("Say who in the export is you with --me (a name or id).", param="me", code="missing_me")
    for name in names:
        # twice, because exports may run backwards: first what can be answered, then the answers
        with DiskIndex() as index:
            channel = _Channel(index, me)
            with suppress(InputError), archive.open(name, options.advance) as stream:
                for number, message in enumerate(read_array(stream, "messages"), start=1):
                    channel.note(number, message)  # damage is reported when the same place is reached below
            try:
                with archive.open(name, options.advance) as stream:
                    for number, message in enumerate(read_array(stream, "messages"), start=1):
                        yield _exported_item(message, number, channel, options, f"{archive.where(name)}:{number}")
            except InputError as error:
                yield LeftOut.because_of(error, archive.where(name))


@dataclass(slots=True)
class _Channel:
    """The messages of an exported channel: others' texts by id, and all by their number in the file."""

    index: DiskIndex
    me: Identities
    later: int = 0  # messages that are later than the one before them in the file, less those that are earlier
    last: float = 0.0

    def note(self, number: int, message: Any) -> None:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            return
        try:
            time = parse_timestamp(message.get("timestamp"))
        except InputError:
            return
        own = _is_own(message, self.me)
        text = split_quotes(_readable(message["content"])).own
        if not own:
            self.index.put(f"id:{message.get('id')}" if isinstance(message.get("id"), (str, int)) else "", text)
        author = message.get("author")
        is_bot = isinstance(author, dict) and author.get("isBot")
        if message.get("type", "Default") in WRITTEN_TYPES and not is_bot:
            self.index.put(f"number:{number}", json.dumps([time, own, text]))
        self.later += (time > self.last) - (time < self.last) if self.last else 0
        self.last = time

    def answered(self, fields: dict[str, Any]) -> str | None:
        """Somebody else's message that the fields say they reply to."""
        reference = fields.get("reference")
        named = reference.get("messageId") if isinstance(reference, dict) else None
        return self.index.get(f"id:{named}") if isinstance(named, (str, int)) else None

    def before(self, number: int) -> Iterator[Said]:
        """The messages before one of that number, the latest first."""
        step = 1 if self.later < 0 else -1
        for distance in range(1, 4 * MAX_MESSAGES):
            noted = self.index.get(f"number:{number + step * distance}")
            if noted is not None:
                time, own, text = json.loads(noted)
                yield Said(time, own, text)


def _is_own(message: dict[str, Any], me: Identities) -> bool:
    author = message.get("author")
    if not isinstance(author, dict):
        return False
    tag = f"{author.get('name')}#{author.get('discriminator')}"
    return me.knows(author.get("id"), author.get("name"), author.get("nickname"), tag)


def _exported_item(message: Any, number: int, channel: _Channel, options: Options, where: str) -> Found | LeftOut:
    try:
        fields = as_object(message)
        author = as_object(fields.get("author"))
        if author.get("isBot") or fields.get("type", "Default") not in WRITTEN_TYPES:
            return LeftOut(where, "bot or system message")
        tag = f"{author.get('name')}#{author.get('discriminator')}"
        if not channel.me.match(author.get("name"), author.get("nickname"), author.get("id"), tag):
            return LeftOut(where, NOT_MINE)
        time = parse_timestamp(fields.get("timestamp"), param="timestamp") if fields.get("timestamp") else 0.0
        answered = channel.answered(fields) or what_was_said(channel.before(number), time)
        return _item(fields, "id", "timestamp", "content", answered, options, where)
    except InputError as error:
        return LeftOut.because_of(error, where)


def _item(
    fields: dict[str, Any], id_: str, time: str, text: str, answered: str | None, options: Options, where: str
) -> Found | LeftOut:
    """``id_``, ``time`` and ``text`` are what the format calls these fields."""
    for name in (id_, time):
        if not fields.get(name):
            raise InputError(f"'{name}' is missing.", param=name, code="missing_field")
    if not isinstance(fields[id_], (str, int)):
        raise InputError(f"'{id_}' must be a string.", param=id_, code="wrong_type")
    content = fields.get(text)
    parts = split_quotes(_readable(content if isinstance(content, str) else ""))
    reason = why_no_prose(parts.own)
    if reason or not prose(parts.own):
        return LeftOut(where, reason or NO_TEXT)
    document = Document(
        id=stable_id(str(fields[id_])),
        text=prose(parts.own),
        timestamp=parse_timestamp(fields[time], param=time),
        request=as_request(parts.quoted) or as_request(answered),
        voice=options.voice,
    )
    return Found(options.owner, document, where)


def _readable(content: str) -> str:
    """Emoji by their names; mentions, whose names only Discord knows, as a plain "@user" or "#channel"."""
    content = EMOJI.sub(r"\1", content)
    return MENTION.sub(lambda match: "@user" if match[1] == "@" else "#channel", content)
