"""Models of how each person writes, fitted once and kept while their history stays the same.

A model compares a person with impostors: the texts of other authors that come with the package, never of other users of
the server, since what one person writes must not show in another's answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from service.histories.kept import KeptByPerson
from service.store import samples
from service.store.database import Database
from service.store.samples import MANNER

if TYPE_CHECKING:
    from pearl.style.likeness.likeness import Likeness

MOST_BYTES = 200_000_000  # of people's models in memory; one takes up to ten million


class LikenessCache(KeptByPerson["Likeness"]):
    """A cache of likeness models by user and voice, fitted to their newest texts without quarantined ones."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, _read, size=_size, most_bytes=MOST_BYTES)


def _read(connection: Connection, user_id: int, voice: str | None) -> Callable[[], Likeness]:
    from pearl.style.likeness.likeness import (
        Likeness,  # loads the figures of the registers, which most calls do not need
    )

    texts = [document.text for document in samples.newest_samples(connection, user_id, voice, MANNER)]
    return lambda: Likeness.fit(texts)


def _size(likeness: Likeness) -> int:
    models = (likeness.words_model, likeness.characters_model)
    arrays = [
        array
        for model in models
        if model is not None
        for level in model.levels
        for array in (level.grams, level.counts, level.contexts, level.totals, level.kinds)
    ]
    return 1000 + sum(array.nbytes for array in arrays)
