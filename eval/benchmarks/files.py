"""The files of published data: JSON Lines and CSV, with errors that name file, line and the missing column."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from eval.asking.json_lines import check_fields
from pearl.csv_rows import why_not_csv
from pearl.errors import InputError
from pearl.history import parse_numbered_lines
from pearl.texts import json_type

LONGEST_CELL = 10_000_000  # characters; a survey's wave is one line a respondent


def the_file(folder: Path, *patterns: str) -> Path:
    """The only file of the folder that matches the first pattern, else the next; or the path, if it is that file.
    Raises InputError."""
    if folder.is_file() and any(fnmatch(folder.name.casefold(), pattern) for pattern in patterns):
        return folder
    if not folder.is_dir():
        raise InputError(f"--data {folder}: must be the folder with {' or '.join(patterns)}.", code="no_folder")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    matching = [[path for path in files if fnmatch(path.name.casefold(), pattern)] for pattern in patterns]
    for paths in matching:
        if len(paths) == 1:
            return paths[0]
    names = f"{max(map(len, matching))} files match" if any(matching) else "there is no file"
    raise InputError(f"--data {folder}: {names} {' or '.join(patterns)}; there must be one.", code="no_file")


def json_rows(path: Path, *needed: str, objects: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Each line's object. Raises InputError for one without a needed field, or where one of ``objects`` is none."""

    def checked(value: dict[str, Any], number: int) -> dict[str, Any]:
        check_fields(value, *needed, *objects)
        for name in objects:
            if not isinstance(value[name], dict):
                must = f"must be an object, not {json_type(value[name])}; is it another version?"
                raise InputError(must, param=name, code="wrong_type")
        return value

    yield from parse_numbered_lines(path, checked)


def csv_rows(path: Path, *needed: str) -> Iterator[dict[str, str]]:
    """Each row by column. Raises InputError for a file without a needed column, or that is not UTF-8 or CSV."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            columns = rows.fieldnames or ()
            if missing := [name for name in needed if name not in columns]:
                there = ", ".join(columns[:12]) or "none"
                raise InputError(
                    f"{path}: {', '.join(missing)}: there is no such column; is it another version? It has {there}.",
                    param=missing[0],
                    code="missing_column",
                )
            for row in rows:
                yield {name: value or "" for name, value in row.items() if name is not None and isinstance(name, str)}
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8; re-encode the file.", code="invalid_unicode") from error
    except csv.Error as error:
        reason = why_not_csv(error, rows.line_num, rows.line_num)
        raise InputError(f"{path}:{rows.line_num}: {reason}", code="invalid_csv") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.", code="unreadable_file") from error
