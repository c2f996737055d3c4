"""The rows of a CSV file, with the line each starts on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from pearl.errors import InputError
from pearl.files.csv_rows import why_not_csv

MAX_FIELD_CHARACTERS = 4_000_000  # more than a text may have, so that a longer one is refused with its line


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row by column name, counted from the line it starts on, or the error that says why there is none."""

    line: int
    value: dict[str, str] | InputError


def read_rows(stream: IO[bytes], required: tuple[str, ...]) -> Iterator[CsvRow]:
    """Stream the rows. Bytes that are not UTF-8 become halves of surrogate pairs, which the text check refuses.

    Raises InputError when a required column is missing.
    """
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, strict=True)  # so that a file that ends within quotes does not end in half a text
    try:
        columns = next(reader, [])
    except csv.Error as error:
        raise InputError(why_not_csv(error, 1, reader.line_num), code="invalid_csv") from error
    missing = [name for name in required if name not in columns]
    if missing:
        raise InputError(
            f"has no column '{missing[0]}'; is it the right export?", param=missing[0], code="missing_field"
        )
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            yield CsvRow(line, InputError(why_not_csv(error, line, reader.line_num), code="invalid_csv"))
            continue
        if fields is None:
            return
        if fields:
            # a row that is too short has empty fields; one that is too long has fields we know nothing of
            yield CsvRow(line, dict(zip(columns, fields + [""] * (len(columns) - len(fields)), strict=False)))
