"""CSV files, read whole and given row by row, with errors that name the file, the line and the column."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path

from pearl.errors import InputError
from pearl.text.history.files import decompressed, reading

MOST_BYTES = 1_000_000_000
LONGEST_CELL = 2**31 - 1
REASONS = {
    "',' expected after '\"'": "no comma follows the quote that closes a cell",
    "unexpected end of data": "a cell begins with a quote, and none closes it",
}


def csv_rows(path: Path, needed: Sequence[str], *, every: bool = False) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row's first line, and the row's cells by column; blank rows are skipped.

    ``needed``: columns that must be there, in any case of letters; cells missing in a row are empty. ``every``: refuse
    repeated columns, and rows with more or fewer cells than the header. Raises InputError that names file, line and
    column.
    """
    with reading(path) as raw, decompressed(raw) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(
            f"{path}: has more than {MOST_BYTES:,} bytes, the most of a CSV that is read; split it.",
            code="file_too_large",
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{path}:{line}: is not UTF-8 (byte {error.start}); re-encode the file."
        raise InputError(message, code="invalid_unicode") from None
    csv.field_size_limit(LONGEST_CELL)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    before = 0
    try:
        columns = _columns(path, next(rows, []), needed, every)
        before = rows.line_num
        for cells in rows:
            begun, before = before + 1, rows.line_num
            if every and cells and len(cells) != len(columns):
                raise InputError(
                    f"{path}:{begun}: has {len(cells)} cells; the header has {len(columns)}.", code="invalid_csv"
                )
            if any(cell.strip() for cell in cells):
                yield begun, dict(zip(columns, chain(cells, repeat("")), strict=False))
    except csv.Error as error:
        message = f"{path}:{before + 1}: {why_not_csv(error, before + 1, rows.line_num)}"
        raise InputError(message, code="invalid_csv") from None


def why_not_csv(error: csv.Error, begun: int, line: int) -> str:
    """Explain why the CSV record that begins on line ``begun`` and fails on ``line`` cannot be read; the caller names
    the first line."""
    reason = REASONS.get(str(error), str(error))
    where = f"on line {line}, " if line > begun else ""
    return f"is not CSV: {where}{reason}. Put a cell with quotes in quotes, and write each quote within it twice."


def _columns(path: Path, header: Sequence[str], needed: Sequence[str], every: bool) -> list[str]:
    """The names of the columns, the needed ones as they are called here."""
    called = {name.casefold(): name for name in needed}
    columns = [called.get(name.strip().casefold(), name.strip()) for name in header]
    if not any(columns):
        raise InputError(f"{path}: is empty.", code="empty_file")
    if missing := [name for name in needed if name not in columns]:
        raise InputError(
            f"{path}:1: {missing[0]}: there is no such column; the file has {', '.join(header)}, and needs "
            f"{', '.join(needed)}, with commas between them.",
            param=missing[0],
            code="missing_column",
        )
    if twice := [name for name, count in Counter(columns).items() if count > 1 and (every or name in needed)]:
        raise InputError(f"{path}:1: {twice[0]}: two columns have that name.", code="duplicate_column")
    return columns
