"""The last uses of API keys, noted in memory and stored from time to time, so that no request waits for that."""

from __future__ import annotations

import threading
import time

from service.store import keys
from service.store.database import Database

WRITTEN_EVERY_S = 60.0  # between stored uses of a key


class KeyUses:
    """Uses of keys: requests call ``note``, which takes only a lock, the background ``flush``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._noted: dict[str, float] = {}  # time of the last use by the key's id, not stored yet
        self._written: dict[str, float] = {}

    def note(self, key_id: str, now: float | None = None) -> None:
        now = time.time() if now is None else now
        with self._lock:
            if now - self._written.get(key_id, 0.0) >= WRITTEN_EVERY_S:
                self._noted[key_id] = now

    def flush(self) -> None:
        """Store the uses noted since the last time. Raises StoreError; the next call tries again."""
        with self._lock:
            due, self._noted = self._noted, {}
        if not due:
            return
        try:
            with self._database.write() as connection:
                keys.note_uses(connection, due)
        except BaseException:
            with self._lock:
                self._noted = due | self._noted
            raise
        with self._lock:
            recent = max(due.values()) - WRITTEN_EVERY_S
            self._written = {key: when for key, when in (self._written | due).items() if when > recent}
