"""Discord: the data package that Discord sends on request, and the JSON files that DiscordChatExporter writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
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
    check_given,
    list_or_empty,
    object_or_empty,
    open_archive,
)
from service.importing.sources.base import NOT_MINE, Item, Items, LeftOut, Options, as_request, read_each
from service.importing.sources.notices import why_unsaid
from service.importing.sources.quotes import Parts, split_quotes

PACKAGE_FILES = ("c[0-9]*/messages.json", "c[0-9]*/messages.csv", "[0-9]*/messages.json", "[0-9]*/messages.csv")
PACKAGE_FIELDS = ("ID", "Timestamp", "Contents")
EXPORTED_FIELDS = ("id", "timestamp", "content")
WRITTEN_TYPES = ("Default", "Reply")
# with a space behind it, so that ">:(" is none; ">>> " quotes all that follows
QUOTE = re.compile(r" *> +")
DIRECT = "Direct Message with "  # the package's name for the channel of two people
QUOTE_OF_ALL = re.compile(r" *>>> +")
EMOJI = re.compile(r"<a?(:\w+:)\d+>")
MENTION = re.compile(r"<([@#])[!&]?\d+>")

Place = tuple[str | None, str | None]  # recipient and thread of messages
NOWHERE: Place = (None, None)


class DiscordImporter(ArchiveImporter):
    name = "discord"
    summary = "Discord's data package, or JSON of DiscordChatExporter."
    examples = (
        "pearl import discord package.zip --user ann --voice chat",
        "pearl import discord 'Tea - general.json' --user ann --me ann_lee",
    )
    needs_me = False  # a data package holds only its owner's messages
    missing = "is neither a Discord data package nor JSON of DiscordChatExporter."

    def names(self, archive: Archive) -> list[str]:
        return archive.matching(*PACKAGE_FILES) or archive.matching("*.json")

    def size(self, source: Path) -> int | None:
        with open_archive(source) as archive:
            times = 1 if archive.matching(*PACKAGE_FILES) else 2
            return times * sum(archive.files[name] for name in self.names(archive))

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        read = _read_package if archive.matching(*PACKAGE_FILES) else _read_exported
        yield from read(archive, names, options)


def _read_package(archive: Archive, names: list[str], options: Options) -> Iterator[Item]:
    """Read the data package. It does not record what a message answered; only a quote in the message shows that."""
    channels = _channel_names(archive)

    def read(name: str) -> Iterator[Item]:
        place = channels.get(PurePosixPath(name).parent.name.removeprefix("c")), None
        if name.lower().endswith(".json"):
            messages = archive.elements(name, advance=options.advance)
        else:
            messages = archive.rows(name, PACKAGE_FIELDS, options.advance)
        return read_each(messages, partial(_item, PACKAGE_FIELDS, None, place, options))

    yield from archive.each(names, read)


def _channel_names(archive: Archive) -> dict[str, str]:
    """Return each channel's name by its id: the other person's name, or "#" and the channel's name. Empty if the
    package's index cannot be read."""
    names: dict[str, str] = {}
    for path in archive.matching("index.json"):
        with suppress(InputError), archive.open(path) as stream:
            for id_, name in JsonStream(stream).members():
                if isinstance(name, str) and name.startswith(DIRECT):
                    names[id_] = name.removeprefix(DIRECT).removesuffix("#0")
                elif isinstance(name, str) and " in " in name:
                    names[id_] = f"#{name.rpartition(' in ')[0]}"
    return names


def _read_exported(archive: Archive, names: list[str], options: Options) -> Iterator[Item]:
    options.check_me("the export", "a name or id")
    with DiskIndex() as written:
        # twice, for a thread is a file of its own and exports may run backwards: what can be answered, then the answers
        places: dict[str, Place] = {}
        for name in names:
            # an error is reported when the same place is reached below
            with suppress(InputError), archive.open(name, options.advance) as stream:
                for member, value in JsonStream(stream).members({"messages"}):
                    if member == "messages":
                        _note_text(written, value)
                    elif member == "channel" and isinstance(value, dict):
                        places[name] = _place(value)

        def read(name: str) -> Iterator[Item]:
            messages = archive.elements(name, "messages", options.advance)
            place = places.get(name, NOWHERE)
            return read_each(messages, partial(_exported_item, written, place, options))

        yield from archive.each(names, read)


def _place(channel: dict[str, Any]) -> Place:
    """Return the recipient and the thread of a file's messages. In the export a thread is a channel whose category is
    the channel that it belongs to."""
    kind, name = str(channel.get("type")), channel.get("name")
    if kind.endswith("Thread"):
        parent = channel.get("category")
        return f"#{parent}" if parent else None, str(channel.get("id") or name)
    return (str(name) if kind.startswith("Direct") else f"#{name}") if name else None, None


def _note_text(written: DiskIndex, message: Any) -> None:
    if isinstance(message, dict):
        parts = _parts(_content(message, "content"))
        written.put(str(message.get("id")), parts.own or parts.quoted)


def _exported_item(written: DiskIndex, place: Place, options: Options, message: Any, where: str) -> Item:
    fields = as_object(message)
    author = as_object(fields.get("author"))
    if author.get("isBot") or fields.get("type", "Default") not in WRITTEN_TYPES:
        return LeftOut(where, "bot or system message")
    tag = f"{author.get('name')}#{author.get('discriminator')}"
    id_ = author.get("id")
    if not options.identities.match(author.get("name"), author.get("nickname"), tag, id_, account=id_):
        return LeftOut(where, NOT_MINE)
    reference = object_or_empty(fields.get("reference"))
    answered = written.get(str(reference.get("messageId"))) if reference else None
    return _item(EXPORTED_FIELDS, answered, place, options, fields, where)


def _item(
    names: tuple[str, str, str], answered: str | None, place: Place, options: Options, message: Any, where: str
) -> Item:
    """Convert a message to an item. ``names``: the format's field names for the id, the time and the text."""
    fields, (id_, time, text) = as_object(message), names
    check_given(fields, id_, time)
    parts = _parts(_content(fields, text))
    if reason := why_unsaid(parts.own):
        return LeftOut(where, reason)
    timestamp, request = parse_timestamp(fields[time], param=time), as_request(answered) or parts.quoted
    recipient, thread = place
    return options.document(where, str(fields[id_]), parts.own, timestamp, request, recipient=recipient, thread=thread)


def _content(message: dict[str, Any], field: str) -> str:
    """Return a message's text. If it has none, return the text of its embeds, quoted if an embed previews a link."""
    if message.get(field):
        return str(message[field])
    embeds = map(object_or_empty, list_or_empty(message.get("embeds")))
    said = ((">>> " if each.get("url") else "", each.get("description") or each.get("title") or "") for each in embeds)
    return "\n".join(f"{mark}{words}" for mark, words in said)


def _parts(content: str) -> Parts:
    """Separate own words from quoted ones. Emoji are replaced by their names, mentions by "@user" or "#channel"."""
    content = EMOJI.sub(r"\1", content)
    content = MENTION.sub(lambda match: "@user" if match[1] == "@" else "#channel", content)
    return split_quotes(content, QUOTE, QUOTE_OF_ALL)
