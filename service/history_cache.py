"""Users' histories made ready for ranking, kept in memory while they are in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from pearl.records import Document, Request, ScoredDocument
from retriever.base import Calibration, Index, Retriever, order
from service.store import documents, users
from service.store.database import Database


@dataclass(frozen=True, slots=True)
class History:
    """The documents of a user, or of one voice, oldest first, and their index, as of one version."""

    version: int
    documents: tuple[Document, ...]
    index: Index

    def rank(self, request: Request) -> list[ScoredDocument]:
        """Every document with its score, best first."""
        return order(self.documents, self.index.scores(request)) if self.documents else []


Key = tuple[int, str | None]  # user's row id, voice


class HistoryCache:
    """The least recently used histories make room when there are too many documents.

    The version in the store says whether a kept history is still true, so that changes made by another process count
    at once. Of several calls for one history, one builds it.
    """

    def __init__(self, database: Database, retriever_of: Callable[[int], Retriever], *, max_documents: int) -> None:
        """``retriever_of`` gives the retriever for a user's row id."""
        self._database = database
        self._retriever_of = retriever_of
        self._max_documents = max_documents
        self._kept: OrderedDict[Key, History] = OrderedDict()
        self._building: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def calibration(self) -> Calibration:
        return self._retriever_of(0).calibration

    def get(self, user_id: int, voice: str | None) -> History:
        """The user's history as it is now. Raises NotFound when the user is gone."""
        key = (user_id, voice)
        with self._database.read() as connection:
            version = users.history_version(connection, user_id)
        kept = self._current(key, version)
        if kept is not None:
            return kept
        with self._lock:
            building = self._building.setdefault(key, threading.Lock())
        with building:
            return self._current(key, version) or self._build(key, building)

    def forget(self, user_id: int) -> None:
        """Drop whatever is kept of this user."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == user_id]:
                del self._kept[key]
            for key in [key for key in self._building if key[0] == user_id]:
                del self._building[key]

    def drop_stale(self) -> None:
        """Drop what another process changed or deleted, so that its texts do not stay in memory unused."""
        with self._lock:
            kept = {user_id for user_id, _ in self._kept}
        if not kept:
            return
        with self._database.read() as connection:
            versions = users.history_versions(connection, kept)
        with self._lock:
            for key, history in list(self._kept.items()):
                if versions.get(key[0], -1) != history.version and key[0] in kept:
                    del self._kept[key]

    def _current(self, key: Key, version: int) -> History | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.version < version:
                return None
            self._kept.move_to_end(key)
            return kept

    def _build(self, key: Key, building: threading.Lock) -> History:
        user_id, voice = key
        with self._database.read() as connection:
            version = users.history_version(connection, user_id)
            found = documents.all_of_user(connection, user_id, voice)
        history = History(version, tuple(found), self._retriever_of(user_id).index(found))
        with self._lock:
            if self._building.get(key) is building:  # else it was forgotten meanwhile: nothing of it may stay
                self._kept[key] = history
                self._kept.move_to_end(key)
                self._make_room()
        return history

    def _make_room(self) -> None:
        total = sum(len(history.documents) for history in self._kept.values())
        while total > self._max_documents and len(self._kept) > 1:
            key, dropped = self._kept.popitem(last=False)
            self._building.pop(key, None)
            total -= len(dropped.documents)
