"""A history as the trainer looks at it: documents without times, and a fingerprint of the file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pearl.errors import InputError
from pearl.history.files import reading
from pearl.records import Document


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
    """SHA-256 of the file's bytes. Raises InputError for a pipe, which could not be read again."""
    with reading(path) as file:
        if not file.seekable():
            raise InputError(f"{path}: is a pipe, which can be read only once; write it to a file.", code="is_a_pipe")
        return hashlib.file_digest(file, "sha256").hexdigest()
