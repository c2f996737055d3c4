"""Losses that a language model took long to compute, kept by digest in PEARL_HOME: numbers, no texts.

A loss is the mean of -log p over a text's tokens after a prompt, in nats. A second run computes none of them again, and
one that was cut off goes on.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from pearl.errors import StoreError
from pearl.files.private import private_file, private_folder
from pearl.settings import EMBEDDED
from pearl.weights.smollm2 import embedded_model_file
from retriever.models.files import model_fingerprint

STORE = "losses.sqlite"
TABLE = "CREATE TABLE IF NOT EXISTS losses (key BLOB PRIMARY KEY, loss REAL NOT NULL) WITHOUT ROWID"
LOCK_TIMEOUT_S = 10.0
AT_ONCE = 500  # keys of a query; SQLite takes 999 at least


def computed_by(model: str, device: str = "cpu") -> list[str | int]:
    """The part of a key that says what computed a loss: the weights, the device and its arithmetic. ``model`` is
    embedded, a folder or a hub's name.

    Raises ChatError if the embedded model is not installed.
    """
    from retriever.models.load_auxiliary import arithmetic_of  # it imports torch

    how = [device, arithmetic_of(model, device)]
    if model == EMBEDDED:
        file = embedded_model_file()
        return [file.name, file.stat().st_size, *how]
    return [model_fingerprint(model) or model, *how]


def loss_key(*made_of: str | int) -> bytes:
    """The key of a loss, which no other weights, arithmetic, prompt, limits or text have."""
    return hashlib.sha256(json.dumps(made_of).encode()).digest()


class KeptLosses:
    """The losses of the file; open it with :func:`kept_losses`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def known(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The kept losses among these keys."""
        losses: dict[bytes, float] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            places = ", ".join("?" * len(some))
            losses |= self._connection.execute(f"SELECT key, loss FROM losses WHERE key IN ({places})", some)
        return losses

    def keep(self, losses: Mapping[bytes, float]) -> None:
        """Keep losses; they survive a kill of the process from here on."""
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO losses VALUES (?, ?)", losses.items())


@contextmanager
def kept_losses(home: Path) -> Iterator[KeptLosses]:
    """Open the file of losses in PEARL_HOME, ``home``. Raises StoreError if they cannot be kept."""
    store = home / STORE
    try:
        private_folder(store.parent)
        private_file(store)
        with closing(sqlite3.connect(store, timeout=LOCK_TIMEOUT_S)) as connection:
            connection.execute(TABLE)
            yield KeptLosses(connection)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{store}: losses cannot be kept there: {error}; set PEARL_HOME to another folder.") from error
