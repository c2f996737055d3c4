"""Finding the mails in an mbox file: each begins with a line ``From ...`` directly above its header."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from service.importing.sources.mails.headers import FIELD_NAME

LINE_BYTES = 1 << 20
HEAD_BYTES = 1 << 16  # a mail that many gateways signed has more than 4,096 bytes of headers above its From:
BOM = b"\xef\xbb\xbf"
BOUNDARY_CHARACTERS = 300
# "From ", "From -", "From ???@???", "From ann@example.org 2024-07-01 10:00"; a header below it makes it a separator,
# with a weekday and a time a damaged one, too
SEPARATOR = re.compile(rb"From(?: [^\s\"]*| \"[^\"]*\")?(?:\s.*\d.*)?\s*")
DATED = re.compile(rb"From (?>.*?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s)(?>.*?\d\d?:\d\d).*?\d{4}")
BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
HEADER_LINES = 1_000
USUAL = {b"date", b"message-id", b"received", b"return-path", b"subject", b"to", b"mime-version", b"content-type"}
ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
ESCAPED_SENDER = re.compile(rb"^(>+)From:", re.MULTILINE)  # imap-backup
HEADER_END = re.compile(rb"\n\r?\n")


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a mail in a file. ``line``: the number of its ``From `` line, from 1; ``opening``: that line;
    ``start``, ``length``: the bytes below that line."""

    line: int
    opening: bytes
    start: int
    length: int


def is_mbox(head: bytes) -> bool:
    """True if the beginning of a file is an mbox file's: a ``From `` line and a mail's header."""
    start = head.lstrip(BOM + b"\r\n")
    file = io.BytesIO(start if b"\n" in start else start.replace(b"\r", b"\n"))
    return _separates(file.readline(), file)


def find_spans(file: IO[bytes], advance: Callable[[int], None]) -> Iterator[Span]:
    """Yield the places of the mails in order; tell ``advance`` of the bytes read."""
    number = line_start = 0
    opening: tuple[int, bytes, int] | None = None
    at_line_start = True  # False in the middle of a line longer than LINE_BYTES
    reported = 0
    for line in iter(lambda: file.readline(LINE_BYTES), b""):
        number += at_line_start
        start = line.removeprefix(BOM)
        if at_line_start and start.startswith(b"From") and _separates(start, file):
            if opening is not None:
                yield Span(*opening, line_start - opening[2])
            opening = (number, start[:BOUNDARY_CHARACTERS], line_start + len(line))
        at_line_start = line.endswith(b"\n")
        line_start += len(line)
        if line_start - reported >= LINE_BYTES:
            advance(line_start - reported)
            reported = line_start
    advance(line_start - reported)
    if opening is not None:
        yield Span(*opening, line_start - opening[2])


def _separates(line: bytes, file: IO[bytes]) -> bool:
    """True if the line begins a mail, because a header follows. The file's position, below the line, is kept."""
    line = line[:BOUNDARY_CHARACTERS]
    dated = DATED.match(line) is not None
    if not (dated or SEPARATOR.fullmatch(line)):
        return False
    start, names, first = file.tell(), set(), b""
    for number in range(HEADER_LINES):
        below = file.readline(HEAD_BYTES)
        first = first or below
        field = FIELD_NAME.match(below)
        if field:
            names.add(field[1].lower().lstrip(b">"))
        elif not (number and below[:1] in (b" ", b"\t")) and not below.startswith(b">From "):
            break
        if dated and names:
            break
    file.seek(start)
    return bool(names if dated else b"from" in names and names & USUAL) or (dated and bool(BINARY.search(first)))


def unescaped(mail: bytes, boxed: bool) -> bytes:
    """Remove the ``>`` that programs put before lines that begin with "From". ``boxed``: the mail is from an mbox
    file."""
    end = HEADER_END.search(mail)
    header = mail[: end.start() if end else HEAD_BYTES]
    escaped = ESCAPED_SENDER.search(header)
    if escaped and not re.search(rb"^from:", header, re.IGNORECASE | re.MULTILINE):
        return re.sub(rb"^%b(>*From)" % escaped[1], rb"\1", mail, flags=re.MULTILINE)
    return ESCAPED.sub(rb"\1", mail) if boxed else mail
