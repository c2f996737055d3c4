"""WhatsApp: the text file of an exported chat, alone or zipped with its pictures and recordings."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pearl.errors import InputError
from service.importing.sources.archive import Archive, ArchiveImporter
from service.importing.sources.base import NOT_MINE, Item, Items, LeftOut, Options, Remark, Turns, read_each
from service.importing.sources.identities import Identities
from service.importing.sources.notes.kinds import is_chat
from service.importing.sources.notices import why_unsaid, without_notices
from service.importing.sources.quotes import INVISIBLE
from service.importing.sources.stamps import FLAGS, Stamp, StampReader, find_stamp

MARK = "\u200e"  # WhatsApp sets it before what it writes itself, in every language
ISOLATES = re.compile("[\u2066-\u2069]")  # around names
TITLE = re.compile(r"(?i)(?:.*\W)?WhatsApp\b.{0,10}? (?:-|with|mit|con|com|avec|met|med) (.+?)(?: ?\(\d+\))?$")
LINE_CHARACTERS = 1_100_000  # at once; a text of more is refused
SENDER_CHARACTERS, MOST_SENDERS = 80, 1_000  # of a name; that are told apart


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a chat."""

    line: int
    stamp: Stamp
    sender: str  # empty in WhatsApp's own notices
    text: str


class WhatsAppImporter(ArchiveImporter):
    name = "whatsapp"
    summary = "A chat exported from WhatsApp: _chat.txt, its zip file, a folder of them."
    examples = (
        "pearl import whatsapp 'WhatsApp Chat - Bob.zip' --user ann --me 'Ann Lee' --voice chat",
        "pearl import whatsapp _chat.txt --user ann --me Ann --day-first",
    )
    needs_me = True
    stable_ids = False  # a message has no id; it is called by its content
    flags = FLAGS

    missing = "is not a chat that WhatsApp exported."
    times = 2

    def names(self, archive: Archive) -> list[str]:
        found = []
        for name in list(archive.files) if len(archive.files) == 1 else archive.matching("*.txt"):
            with suppress(InputError), archive.open(name) as stream:  # a damaged one is none of the export's
                found += [name] if is_chat(stream.read(1 << 16).decode("utf-8-sig", "replace")) else []
        return found

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        for name in names:
            try:
                yield from _read_chat(archive, name, options)
            except InputError as error:
                if len(names) == 1:
                    raise InputError(f"{archive.where(name)}: {error.message}", code=error.code) from error
                options.advance(archive.files[name])  # which a second reading would have taken
                yield LeftOut.because_of(error, archive.where(name))
        yield Remark("WhatsApp writes no time zone; its times are taken as UTC.")


def _read_chat(archive: Archive, name: str, options: Options) -> Iterator[Item]:
    """Yield a chat's messages. The file is read twice: first to learn the order of its dates and who writes."""
    me, reader, turns = Identities(options.me), StampReader(options.flags), Turns()
    others: set[str] = set()
    for said in _messages(archive, name, options):
        reader.note(said.stamp)
        if said.sender in others or not said.sender or len(others) >= MOST_SENDERS or me.match(said.sender):
            continue
        if _own_words(said.text):
            others.add(said.sender)
    reader.decide()
    title = TITLE.match(Path(name).stem) or TITLE.match(archive.source.stem)
    alone = len(others) == 1  # with one other person, who is then answered
    recipient = others.pop() if alone else title[1] if title else None
    placed = ((f"{archive.where(name)}:{said.line}", said) for said in _messages(archive, name, options))
    yield from read_each(placed, partial(_item, reader, turns, alone, recipient, options))


def _item(
    reader: StampReader, turns: Turns, alone: bool, recipient: str | None, options: Options, said: Said, where: str
) -> Item:
    seconds = reader.seconds(said.stamp)
    if not said.sender:
        return LeftOut(where, "bot or system message")
    text = _own_words(said.text)
    if not options.identities.match(said.sender):
        turns.hear(text, seconds)
        return LeftOut(where, NOT_MINE)
    if reason := why_unsaid(text):
        return LeftOut(where, reason)
    request = turns.answered(seconds) if alone else None
    name = f"{said.stamp.text}\0{said.sender}\0{text}"  # of which the id is a digest
    return options.document(where, name, text, seconds, request, recipient=recipient)


def _own_words(text: str) -> str:
    """Remove what WhatsApp itself wrote in a message; "" if nothing else is in it."""
    if MARK in text:
        text = "\n".join(line for line in text.split("\n") if not line.startswith(MARK))
        mark = text.rfind(f"{MARK}<")  # that it was edited, or a file's name, in whatever language
        if text.find(">", mark) == len(text.rstrip()) - 1 > mark >= 0:
            text = text[:mark] + ("<attached: a>" if ":" in text[mark:] else "")
    return without_notices(ISOLATES.sub("", text.replace(MARK, "")).strip())


def _messages(archive: Archive, name: str, options: Options) -> Iterator[Said]:
    """Yield the messages in order. A line without a stamp of the file's form continues the message before it."""
    said: Said | None = None
    lines, size = list[str](), 0
    with archive.open(name, options.advance) as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape")
        for number, line in enumerate(iter(lambda: text.readline(LINE_CHARACTERS), ""), start=1):
            found = find_stamp(line)
            if found is None or (said and found[0].form != said.stamp.form):
                lines += [line.rstrip()] if size < LINE_CHARACTERS else []
                size += len(line)
                continue
            if said:
                yield replace(said, text="\n".join(lines))
            sender, colon, words = found[1].rstrip("\r\n").partition(": ")
            shown = " ".join(INVISIBLE.sub("", sender).removeprefix("~").split()) if colon else ""
            said = Said(number, found[0], shown if len(shown) <= SENDER_CHARACTERS else "", "")
            lines, size = [words], len(words)
    if said:
        yield replace(said, text="\n".join(lines))
