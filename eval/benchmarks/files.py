"""The files of published data, and those of them that are JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from eval.asking.json_lines import check_fields
from pearl.errors import InputError
from pearl.history.files import parse_numbered_lines
from pearl.text.usable import json_type


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
    """Yield each line's object. Raises InputError for a missing field, or where one of ``objects`` is no object."""

    def checked(value: dict[str, Any], number: int) -> dict[str, Any]:
        check_fields(value, *needed, *objects)
        for name in objects:
            if not isinstance(value[name], dict):
                must = f"must be an object, not {json_type(value[name])}; is it another version?"
                raise InputError(must, param=name, code="wrong_type")
        return value

    yield from parse_numbered_lines(path, checked)
