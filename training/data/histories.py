"""A history as the trainer looks at it: its file, its documents without times, and a fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.files import read_histories, reading


def corpus_name(path: Path) -> str:
    """The file's name without the endings of a history file, and without the colon that parts the name from a
    user's."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl").replace(":", "_")


@dataclass(frozen=True, slots=True)
class Corpus:
    """One history file."""

    name: str
    fingerprint: str  # SHA-256 of the file
    histories: dict[str, list[Document]]

    @classmethod
    def read(cls, path: Path) -> Corpus:
        """Raises InputError that names file, line and field of the first bad line."""
        return cls(corpus_name(path), fingerprint(path), read_histories(path))


def read_corpora(paths: Sequence[Path]) -> list[Corpus]:
    """Raises InputError that names file, line and field of the first bad line, and for two files of one name, by which
    scores are told apart."""
    names = [corpus_name(path) for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--history: two files are named '{twice}'; rename one of them.", param="history")
    return [Corpus.read(path) for path in paths]


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
