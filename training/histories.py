"""A history file as the trainer needs it: documents by user, and a fingerprint of the file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pearl.errors import InputError
from pearl.history import parse_document, read_json_lines
from pearl.records import Document
from pearl.texts import check_id


def read_histories(path: Path) -> dict[str, list[Document]]:
    """Documents by user, in the file's order; a line without a timestamp is a document without one.

    Raises InputError that names file, line and field of the first bad line.
    """
    histories: dict[str, list[Document]] = {}
    for line in read_json_lines(path):
        try:
            if isinstance(line.value, InputError):
                raise line.value
            user_id = check_id(line.value.get("user_id"), param="user_id")
            histories.setdefault(user_id, []).append(parse_document(line.value, timestamp_required=False))
        except InputError as error:
            field = f"{error.param}: " if error.param else ""
            raise InputError(f"{path}:{line.number}: {field}{error.message}", code=error.code) from None
    if not histories:
        raise InputError(f"{path}: holds no documents.", code="empty_file")
    return histories


def fingerprint(path: Path) -> str:
    """SHA-256 of the file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
