"""The rows of a CSV file, with the line each starts on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from pearl.errors import InputError

MAX_FIELD_CHARACTERS = 4_000_000  # more than a text may have, so that a longer one is refused with its line
MAX_ROW_CHARACTERS = 16_000_000
PIECE_CHARACTERS = 1 << 16
MAX_MARKS = 1_000


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row by column name, counted from the line it starts on, or the error that says why there is none."""

    line: int
    value: dict[str, str] | InputError


def read_rows(stream: IO[bytes], required: tuple[str, ...]) -> Iterator[CsvRow]:
    """Stream the rows. Bytes that are not UTF-8 become halves of surrogate pairs, which the text check refuses.

    A row that is too long is read over in memory that does not grow with it. Raises InputError when a required column
    is missing.
    """
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    records = _records(text)
    columns = next(records, _Record(1, "")).fields()
    if isinstance(columns, InputError):
        raise columns
    missing = [name for name in required if name not in columns]
    if missing:
        raise InputError(
            f"has no column '{missing[0]}'; is it the right export?", param=missing[0], code="missing_field"
        )
    for record in records:
        fields = record.fields()
        if isinstance(fields, InputError):
            yield CsvRow(record.line, fields)
        elif fields:
            # a row that is too short has empty fields; one that is too long has fields we know nothing of
            padded = fields + [""] * (len(columns) - len(fields))
            yield CsvRow(record.line, dict(zip(columns, padded, strict=False)))


@dataclass(frozen=True, slots=True)
class _Record:
    """A row as it stands in the file; ``text`` is None for one that is too long."""

    line: int
    text: str | None

    def fields(self) -> list[str] | InputError:
        if self.text is None:
            return InputError(f"has more than {MAX_ROW_CHARACTERS:,} characters.", code="row_too_long")
        try:
            return next(csv.reader([self.text]), [])
        except csv.Error as error:
            return InputError(f"is not CSV: {error}", code="invalid_csv")


def _records(text: io.TextIOWrapper) -> Iterator[_Record]:
    """The rows, divided at the ends of lines that are not within quotes."""
    pieces: list[str] = []
    length = 0
    line = started = 1
    is_open = False  # within quotes
    while piece := text.readline(PIECE_CHARACTERS):
        if len(piece) == PIECE_CHARACTERS:
            piece += _rest_of_marks(piece, text)
        is_open = _open_after(piece, is_open, at_start=not length)
        length += len(piece)
        if length <= MAX_ROW_CHARACTERS:
            pieces.append(piece)
        line += piece.count("\n") or piece.endswith("\r")
        if not is_open and piece.endswith(("\n", "\r")):
            yield _Record(started, "".join(pieces) if length <= MAX_ROW_CHARACTERS else None)
            pieces, length, started = [], 0, line
    if length:
        yield _Record(started, "".join(pieces) if length <= MAX_ROW_CHARACTERS else None)


def _rest_of_marks(piece: str, text: io.TextIOWrapper) -> str:
    """What follows where a piece ends with a mark, so that two that belong together stay together."""
    rest = piece[-1]
    while rest[-1] in '",\r' and len(rest) < MAX_MARKS and (more := text.read(1)):
        rest += more
    return rest[1:]


def _open_after(piece: str, is_open: bool, at_start: bool) -> bool:
    """True if the piece ends within quotes. Quotes open only where a field starts, as in the csv module."""
    at = 0
    if not is_open and at_start and piece.startswith('"'):
        is_open, at = True, 1
    while True:
        if is_open:
            at = piece.find('"', at)
            if at < 0:
                return True
            if piece.startswith('""', at):
                at += 2
                continue
            is_open = False
            at += 1
        opening = piece.find(',"', at)
        if opening < 0:
            return False
        is_open, at = True, opening + 2
