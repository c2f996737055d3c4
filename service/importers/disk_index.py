"""Texts by key in a temporary file, so that looking up what a message answered takes no memory."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from types import TracebackType

from pearl.errors import InputError
from pearl.history.files import TRAP_BYTES
from pearl.history.watched import watching
from service.process.temporary import KEPT_AT_MOST, temporary_folder, temporary_full


class DiskIndex:
    """Strings by key. Of several under one key the first stays. A context manager: the file goes with it."""

    def __init__(self) -> None:
        self._open, self._bytes = ExitStack(), 0
        folder = self._open.enter_context(temporary_folder())
        self._database = sqlite3.connect(folder / "index.db", isolation_level=None)
        self._open.callback(self._database.close)
        self._database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
        self._database.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        self._database.execute("BEGIN")  # never committed: nobody else reads it

    def __enter__(self) -> DiskIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def put(self, key: str, value: str) -> None:
        """Keep the value, unless the key has one. Raises StoreError if the temporary folder is full, InputError if far
        more is kept than was read."""
        self._bytes += len(key) + len(value)
        if self._bytes > max(TRAP_BYTES, KEPT_AT_MOST * watching().read):
            raise InputError(f"needs more temporary space than {KEPT_AT_MOST} times its size.", code="too_large")
        try:
            self._database.execute("INSERT OR IGNORE INTO entries VALUES (?, ?)", (_storable(key), _storable(value)))
        except sqlite3.Error as error:
            raise temporary_full(error) from error

    def get(self, key: str) -> str | None:
        row = self._database.execute("SELECT value FROM entries WHERE key = ?", (_storable(key),)).fetchone()
        return None if row is None else str(row[0])


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode()  # SQLite refuses halves of surrogate pairs
