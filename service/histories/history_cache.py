"""Users' histories prepared for ranking, kept in memory while they are in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from pearl.clock import Clock
from pearl.records import Document, Request, ScoredDocument
from retriever.base import Index, Retriever, ranked
from service.store import documents, samples, users
from service.store.database import Database
from service.store.documents import Digests
from service.store.samples import RANKED


@dataclass(frozen=True)
class History:
    """The documents of a user, or of one voice, at one version of the history, and their index for ranking."""

    version: int
    documents: tuple[Document, ...]  # oldest first
    index: Index
    checked: int  # the version at which each of these documents was last seen in the store
    not_embedded: int = 0  # texts whose embeddings were not ready in time

    @cached_property
    def size(self) -> int:
        """Bytes of the texts and the index, approximately."""
        characters = sum(len(document.text) + len(document.request or "") for document in self.documents)
        return BYTES_OF_DOCUMENT * (len(self.documents) + 1) + BYTES_OF_CHARACTER * characters

    def rank(self, request: Request, clock: Clock | None = None) -> list[ScoredDocument]:
        """Score all documents for the request; return them with their scores, best first."""
        return ranked(self.documents, self.index, request, clock) if self.documents else []


Key = tuple[int, str | None]  # user's row id, voice
BYTES_OF_DOCUMENT, BYTES_OF_CHARACTER = 2_500, 10  # of the index, the text included
MOST_BYTES = 300_000_000  # of all indexes that a process keeps


class HistoryCache:
    """Keeps the most recently used histories, up to a number of bytes.

    The version in the store tells whether a kept history is current, so changes made by another process count at once.
    If several calls need the same history, only one builds it, by updating the kept one if there is one.
    """

    def __init__(
        self,
        database: Database,
        retriever_of: Callable[[int, Clock], Retriever],
        *,
        max_bytes: int = MOST_BYTES,
        incomplete: Callable[[int], None] = lambda user_id: None,
        built: Callable[[], None] = lambda: None,
    ) -> None:
        """``retriever_of`` returns the retriever for a user's row id, which prepares a history within the clock's time;
        ``incomplete`` is called with a user's row id if embeddings were not ready in time; ``built`` is called for each
        index that is built from nothing."""
        self._database = database
        self._retriever_of = retriever_of
        self._incomplete = incomplete
        self._built = built
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Key, History] = OrderedDict()
        self._building: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def retriever(self) -> Retriever:
        """The retriever without any user's embeddings."""
        return self._retriever_of(0, Clock())

    def get(self, user_id: int, voice: str | None, clock: Clock | None = None) -> History:
        """Return the user's history as it is now, with as many embeddings as there is time for; ``clock`` gets the
        number of missing ones. Raises NotFound if the user was deleted."""
        clock = clock or Clock()
        history = self._ready((user_id, voice), clock)
        clock.not_embedded = history.not_embedded
        if history.not_embedded:
            self._incomplete(user_id)
        return history

    def _ready(self, key: Key, clock: Clock) -> History:
        user_id, _ = key
        with self._database.read() as connection:
            version = users.history_version(connection, user_id)
        history = self._current(key, version)
        if history is not None and not history.not_embedded:
            return history
        with self._lock:
            building = self._building.setdefault(key, threading.Lock())
        with building:
            history = self._current(key, version)
            if history is not None and (not history.not_embedded or clock.is_late):
                return history
            return self._build(key, building, clock)

    def forget_deleted(self, user_id: int) -> None:
        """Drop this user's documents from memory if they are no longer in the store."""
        with self._lock:
            keys = [key for key in self._kept if key[0] == user_id]
            for key in [key for key in self._building if key[0] == user_id]:
                del self._building[key]  # a call that builds now may have read before the deletion
        version: int | None = None
        stored: set[Digests] = set()
        try:
            with self._database.read() as connection:
                version = users.history_versions(connection, {user_id}).get(user_id)
                stored = documents.all_digests(connection, user_id)
        finally:  # if the store does not answer, drop everything
            for key in keys:
                self._keep_only(key, stored, version)

    def forget(self, user_id: int) -> None:
        """Drop this user's histories from memory."""
        with self._lock:
            for kept in (self._kept, self._building):
                for key in [key for key in kept if key[0] == user_id]:
                    del kept[key]

    def sweep(self) -> None:
        """Drop documents from memory that another process deleted."""
        with self._lock:
            checked = {(user_id, history.checked) for (user_id, _), history in self._kept.items()}
        if not checked:
            return
        with self._database.read() as connection:
            versions = users.history_versions(connection, {user_id for user_id, _ in checked})
        for user_id in {user_id for user_id, version in checked if versions.get(user_id) != version}:
            self.forget_deleted(user_id)

    def _keep_only(self, key: Key, stored: set[Digests], version: int | None) -> None:
        """Drop a kept history's documents that are not ``stored`` at this version; None: the user was deleted."""
        while True:
            with self._lock:
                history = self._kept.get(key)
            if history is None or (version is not None and history.version > version):
                return  # it was read from the store later
            remaining = tuple(document for document in history.documents if documents.digests(document) in stored)
            smaller = None
            if version is not None and remaining:
                index = history.index
                if len(remaining) < len(history.documents):
                    index = self._retriever_of(key[0], Clock(0.0)).update(index, remaining)
                smaller = History(history.version, remaining, index, version, history.not_embedded)
            with self._lock:
                if self._kept.get(key) is not history:
                    continue
                if smaller is None:
                    del self._kept[key]
                else:
                    self._kept[key] = smaller
                return

    def _current(self, key: Key, version: int) -> History | None:
        with self._lock:
            history = self._kept.get(key)
            if history is None or history.version < version:
                return None
            self._kept.move_to_end(key)
            return history

    def _build(self, key: Key, building: threading.Lock, clock: Clock) -> History:
        user_id, voice = key
        with self._database.read() as connection:
            version = users.history_version(connection, user_id)
            read = tuple(samples.newest_samples(connection, user_id, voice, RANKED))
        with self._lock:
            previous = self._kept.get(key)
        missing = Clock(clock.limit_ms, started=clock.started)
        retriever = self._retriever_of(user_id, missing)
        if previous is None:
            self._built()
        index = retriever.index(read) if previous is None else retriever.update(previous.index, read)
        history = History(version, read, index, version, missing.not_embedded)
        with self._lock:
            if self._building.get(key) is building:  # else something was deleted meanwhile: keep nothing
                self._kept[key] = history
                self._kept.move_to_end(key)
                self._make_room()
        return history

    def _make_room(self) -> None:
        total = sum(history.size for history in self._kept.values())
        while total > self._max_bytes and len(self._kept) > 1:
            key, dropped = self._kept.popitem(last=False)
            self._building.pop(key, None)
            total -= dropped.size
