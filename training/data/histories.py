"""History files as training uses them: reading, fingerprints, and documents without times."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.files import read_histories, reading


def corpus_name(path: Path) -> str:
    """Return the name of a history file without ``.jsonl`` and ``.gz``, its colons replaced by "_"."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl").replace(":", "_")


@dataclass(frozen=True, slots=True)
class Corpus:
    """The histories of one file: documents by user."""

    name: str
    fingerprint: str  # SHA-256 of the file
    histories: dict[str, list[Document]]

    @classmethod
    def read(cls, path: Path) -> Corpus:
        """Read a history file. Raises InputError that names file, line and field of the first bad line."""
        return cls(corpus_name(path), fingerprint(path), read_histories(path))


def read_corpora(paths: Sequence[Path]) -> list[Corpus]:
    """Read history files. Raises InputError that names the first bad line, and for two files of the same name."""
    names = [corpus_name(path) for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--history: two files are named '{twice}'; rename one of them.")
    return [Corpus.read(path) for path in paths]


def untimed_users(histories: Mapping[str, Sequence[Document]]) -> list[str]:
    """Return the users who have a document without a timestamp."""
    return [user for user, documents in histories.items() if any(document.timestamp is None for document in documents)]


def times_of_all_or_none(documents: Sequence[Document]) -> list[Document]:
    """Return the documents; if any of them has no timestamp, remove the timestamps of all."""
    if all(document.timestamp is not None for document in documents):
        return list(documents)
    return [replace(document, timestamp=None) for document in documents]


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file's bytes. Raises InputError for a pipe, which could not be read again."""
    with reading(path) as file:
        if not file.seekable():
            raise InputError(f"{path}: is a pipe, which can be read only once; write it to a file.")
        return hashlib.file_digest(file, "sha256").hexdigest()
