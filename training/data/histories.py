"""A history file as the trainer needs it: documents by user, and a fingerprint of the file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.history import parse_document, parse_lines
from pearl.records import Document
from pearl.texts import check_id


def read_histories(path: Path) -> dict[str, list[Document]]:
    """Documents by user, in the file's order; a line without a timestamp is a document without one.

    A document that is there twice counts once. Raises InputError that names file, line and field of the first bad line,
    as where a user has two texts by one id: scores are kept by ids.
    """
    histories: dict[str, list[Document]] = {}
    known: dict[tuple[str, str], Document] = {}

    def add(value: dict[str, Any]) -> None:
        user_id = check_id(value.get("user_id"), param="user_id")
        document = parse_document(value, timestamp_required=False)
        same = known.setdefault((user_id, document.id), document)
        if same is document:
            histories.setdefault(user_id, []).append(document)
        elif same != document:
            raise InputError(f"is '{document.id}', as another document of user '{user_id}' is.", param="id")

    for _ in parse_lines(path, add):
        pass
    if not histories:
        raise InputError(f"{path}: holds no documents.", code="empty_file")
    return histories


def untimed_users(histories: Mapping[str, Sequence[Document]]) -> list[str]:
    """The users whose documents do not all have a time, so that nobody knows what was written before what."""
    return [user for user, documents in histories.items() if any(document.timestamp is None for document in documents)]


def times_of_all_or_none(documents: Sequence[Document]) -> list[Document]:
    """The documents, without their times where any lacks one: what was written before what is then a matter of chance,
    and the times of the others would say otherwise."""
    if all(document.timestamp is not None for document in documents):
        return list(documents)
    return [replace(document, timestamp=None) for document in documents]


def fingerprint(path: Path) -> str:
    """SHA-256 of the file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
