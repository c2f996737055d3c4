"""Mail in mbox files: Gmail's Takeout, Thunderbird's folders, mutt's, and mailing list archives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pearl.errors import InputError
from pearl.records import Document
from service.importers.base import NO_TEXT, NOT_MINE, Found, Items, LeftOut, Options
from service.importers.disk_index import DiskIndex
from service.importers.identities import Identities
from service.importers.ids import content_id, stable_id
from service.importers.mail import Envelope, parse_date, read_envelope, read_text
from service.importers.mail_quotes import split_mail
from service.importers.requests import as_request

LINE_BYTES = 1 << 20
HEADER_BYTES = 1 << 17
MESSAGE_BYTES = 4_000_000  # the text comes before the attachments, so the rest is not read
# a line within a text that starts with "From " has no date behind it
BOUNDARY = re.compile(rb"From .*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s.*\d\d?:\d\d.*\d{4}")
QUOTED_BOUNDARY = re.compile(rb"^>(>*From )", re.MULTILINE)
MESSAGE_ID = re.compile(rb"^message-id:\s*<([^<>\s]+)>", re.MULTILINE | re.IGNORECASE)


class MboxImporter:
    name = "mbox"
    summary = "Mail in an mbox file (Gmail Takeout, Thunderbird, mutt)."
    examples = (
        "pearl import mbox Takeout/Mail/Sent.mbox --user ann --me ann@example.org --voice email",
        "pearl import mbox archive.mbox --user ann --me ann@example.org --me 'Ann Lee'",
    )
    unit = "bytes"
    needs_user = True
    needs_me = True
    stable_ids = False
    template = "message"

    def size(self, source: Path) -> int | None:
        return 2 * source.stat().st_size  # it is read once to find the messages, once for their texts

    def read(self, source: Path, options: Options) -> Items:
        me = options.identities
        try:
            with source.open("rb") as scanned, source.open("rb") as file, DiskIndex() as index:
                _check_mbox(source, scanned)
                for span in _spans(scanned, options.advance):
                    _note_place(index, file, span)
                scanned.seek(0)
                for span in _spans(scanned, options.advance):
                    yield _item(_Mailbox(file, index), span, me, options, f"{source}:{span.line}")
        except OSError as error:
            raise InputError(f"{source}: cannot be read: {error}", code="unreadable_file") from error


@dataclass(frozen=True, slots=True)
class Span:
    """Where a message is: the line of its ``From `` line, counted from 1, and its bytes behind that line."""

    line: int
    opening: bytes
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class _Mailbox:
    """The file, and the places of its messages by Message-ID."""

    file: IO[bytes]
    index: DiskIndex

    def content(self, start: int, length: int) -> bytes:
        self.file.seek(start)
        return QUOTED_BOUNDARY.sub(rb"\1", self.file.read(min(length, MESSAGE_BYTES)))

    def find(self, message_id: str) -> bytes | None:
        place = self.index.get(message_id)
        if place is None:
            return None
        start, length = place.split()
        return self.content(int(start), int(length))


def _item(box: _Mailbox, span: Span, me: Identities, options: Options, where: str) -> Found | LeftOut:
    raw = box.content(span.start, span.length)
    envelope = read_envelope(raw[:HEADER_BYTES])
    if not any(envelope.sender):
        return LeftOut(where, "damaged message", "'From' is missing or not an address.", "From")
    if not me.match(*envelope.sender):
        return LeftOut(where, NOT_MINE)
    time = envelope.time if envelope.time is not None else _opening_time(span.opening)
    if time is None:
        return LeftOut(where, "damaged message", "'Date' is missing or not a date.", "Date")
    parts = split_mail(read_text(raw))
    if not parts.own.strip():
        return LeftOut(where, NO_TEXT)
    document = Document(
        id=stable_id(envelope.id) if envelope.id else content_id(raw),
        text=parts.own,
        timestamp=time,
        request=_request(box, envelope, parts.quoted),
        voice=options.voice,
    )
    return Found(options.owner, document, where)


def _request(box: _Mailbox, envelope: Envelope, quoted: str) -> str | None:
    """The answered mail's own text; if it is not in the box what is quoted of it; else the subject."""
    for message_id in envelope.answers:
        answered = box.find(message_id)
        if answered is not None:
            request = as_request(split_mail(read_text(answered)).own)
            if request:
                return request
    return as_request(quoted) or as_request(envelope.subject)


def _check_mbox(source: Path, file: IO[bytes]) -> None:
    first = b"\n"
    while first in (b"\n", b"\r\n"):
        first = file.readline(LINE_BYTES)
    file.seek(0)
    if not first:
        raise InputError(f"{source}: is empty.", code="empty_file")
    if not first.startswith(b"From "):
        raise InputError(f"{source}: is not an mbox file; its first line must start with 'From '.", code="not_an_mbox")


def _spans(file: IO[bytes], advance: Callable[[int], None]) -> Iterator[Span]:
    number = line_start = 0
    opening: tuple[int, bytes, int] | None = None
    at_line_start = True  # False in the middle of a line longer than LINE_BYTES
    told = 0
    for line in iter(lambda: file.readline(LINE_BYTES), b""):
        number += at_line_start
        if at_line_start and line.startswith(b"From ") and (opening is None or BOUNDARY.match(line)):
            if opening is not None:
                yield Span(*opening, line_start - opening[2])
            opening = (number, line, line_start + len(line))
        at_line_start = line.endswith(b"\n")
        line_start += len(line)
        if line_start - told >= LINE_BYTES:
            advance(line_start - told)
            told = line_start
    advance(line_start - told)
    if opening is not None:
        yield Span(*opening, line_start - opening[2])


def _note_place(index: DiskIndex, file: IO[bytes], span: Span) -> None:
    file.seek(span.start)
    header = file.read(min(span.length, HEADER_BYTES)).replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    found = MESSAGE_ID.search(header)
    if found:
        index.put(found[1].decode(errors="replace"), f"{span.start} {span.length}")


def _opening_time(opening: bytes) -> float | None:
    """The delivery time in ``From ann@example.org Fri Jul  8 12:08:34 2011``."""
    return parse_date(opening.decode(errors="replace").split(maxsplit=2)[-1])
