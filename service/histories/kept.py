"""A cache of results that take long to make from one person's history, each kept while it is current."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from service.store import users
from service.store.database import Database

T = TypeVar("T")

Key = tuple[int, str | None]  # user's row id, voice


class KeptByPerson(Generic[T]):
    """Caches results by user and voice; drops the least recently used above ``most_bytes``. A result is valid while the
    history's version and ``stamp``, the state of its other sources, are unchanged. Concurrent calls make it once."""

    def __init__(
        self,
        database: Database,
        read: Callable[[Connection, int, str | None], Callable[[], T]],
        *,
        size: Callable[[T], int],
        most_bytes: int,
        stamp: Callable[[Connection, int], Hashable] = lambda connection, user_id: None,
    ) -> None:
        """``read`` reads the sources of a result from the store and returns a function that makes it; ``size`` returns
        a result's bytes."""
        self._database = database
        self._read = read
        self._size = size
        self._most_bytes = most_bytes
        self._stamp = stamp
        self._kept: OrderedDict[Key, tuple[int, Hashable, T]] = OrderedDict()
        self._making: WeakValueDictionary[Key, _Turn] = WeakValueDictionary()
        self._lock = threading.Lock()

    @property
    def people(self) -> int:
        """The number of results in memory."""
        return len(self._kept)

    def get(self, user_id: int, voice: str | None) -> T:
        """Return the result for the user's history, or for one voice of it. Raises NotFound if the user was deleted,
        and what ``read`` raises."""
        key = (user_id, voice)
        with self._lock:
            turn = self._making.setdefault(key, _Turn())
        with turn.lock:
            with self._database.read() as connection:
                version, stamp = users.history_version(connection, user_id), self._stamp(connection, user_id)
                with self._lock:
                    made_at, stamped, result = self._kept.get(key, (None, None, None))
                    if result is not None and (made_at, stamped) == (version, stamp):
                        self._kept.move_to_end(key)
                        return result
                make = self._read(connection, user_id, voice)
            made = make()
            with self._database.read() as connection:
                versions = users.history_versions(connection, {user_id})
            if versions.get(user_id) == version:  # else something was deleted meanwhile: keep nothing
                self._keep(key, version, stamp, made)
            return made

    def _keep(self, key: Key, version: int, stamp: Hashable, made: T) -> None:
        with self._lock:
            self._kept[key] = version, stamp, made
            self._kept.move_to_end(key)
            total = sum(self._size(result) for _, _, result in self._kept.values())
            while total > self._most_bytes and self._kept:
                _, (_, _, dropped) = self._kept.popitem(last=False)
                total -= self._size(dropped)

    def forget_deleted(self, user_id: int) -> None:
        """Drop this user's results: they are made of texts that may have been deleted."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == user_id]:
                del self._kept[key]

    def sweep(self) -> None:
        """Drop the results of histories that another process changed or deleted."""
        with self._lock:
            known = {user_id for user_id, _ in self._kept}
        if not known:
            return
        with self._database.read() as connection:
            versions = users.history_versions(connection, known)
        with self._lock:
            for key in [key for key, (version, _, _) in self._kept.items() if versions.get(key[0]) != version]:
                del self._kept[key]


class _Turn:
    """The lock of a call that makes a result; it is gone when no call waits for it any more."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
