"""Models of how each person writes, fitted once and kept while their history stays.

The impostors are the registers that come with the package. Other users of the server are never compared with: what one
person writes must not show in another's answer.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from service.store import documents, users
from service.store.database import Database

if TYPE_CHECKING:
    from pearl.likeness.likeness import Likeness

MOST = 200  # people's models in memory; one takes about a megabyte

Key = tuple[int, str | None]  # user's row id, voice


class LikenessCache:
    """The latest people's models. The history's version in the store says whether they are still true."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[Key, tuple[int, Likeness]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def people(self) -> int:
        """The number of histories with models in memory."""
        return len(self._kept)

    def get(self, user_id: int, voice: str | None) -> Likeness:
        """The models of the user's history, or of one voice of it, without texts that are mostly the machine's. Raises
        NotFound when the user is gone."""
        from pearl.likeness.likeness import Likeness  # with the figures of the registers, which most calls do without

        key = (user_id, voice)
        with self._database.read() as connection:
            version = users.history_version(connection, user_id)
            with self._lock:
                fitted_at, likeness = self._kept.get(key, (None, None))
                if likeness is not None and fitted_at == version:
                    self._kept.move_to_end(key)
                    return likeness
            texts = [document.text for document in documents.samples(connection, user_id, voice)]
        fitted = Likeness.fit(texts)
        with self._database.read() as connection:
            there = users.history_versions(connection, {user_id})
        if there.get(user_id) == version:  # else something was deleted meanwhile: nothing of it may stay
            with self._lock:
                self._kept[key] = version, fitted
                self._kept.move_to_end(key)
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
        return fitted

    def forget_deleted(self, user_id: int) -> None:
        """Let go of this user's models: they are made of texts that may be gone."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == user_id]:
                del self._kept[key]

    def sweep(self) -> None:
        """Let go of the models of histories that another process changed or deleted."""
        with self._lock:
            known = {user_id for user_id, _ in self._kept}
        if not known:
            return
        with self._database.read() as connection:
            versions = users.history_versions(connection, known)
        with self._lock:
            for key in [key for key, (version, _) in self._kept.items() if versions.get(key[0]) != version]:
                del self._kept[key]
