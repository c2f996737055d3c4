"""Reciprocal-rank fusion: the sum over retrievers of 1 / (60 + rank) (Cormack, Clarke and Büttcher, SIGIR 2009).

Its scores order the documents and do not say how good one is: they carry no threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from retriever.base import Index, Retriever, Scores

DAMPING = 60


class FusionRetriever(Retriever):
    name = "fusion"

    def __init__(self, parts: Sequence[Retriever]) -> None:
        self._parts = tuple(parts)

    @property
    def fingerprint(self) -> str:
        return " ".join((self.name, *(part.fingerprint for part in self._parts)))

    def index(self, documents: Sequence[Document]) -> Index:
        return FusionIndex(tuple(part.index(documents) for part in self._parts), len(documents))


class FusionIndex:
    def __init__(self, parts: tuple[Index, ...], size: int) -> None:
        self._parts = parts
        self._size = size

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        fused = np.zeros(self._size, np.float64)
        for part in self._parts:
            fused += 1.0 / (DAMPING + ranks(part.scores(request, clock)))
        return fused.astype(np.float32)


def ranks(scores: Scores) -> Scores:
    """The rank of each score from 1, equal scores sharing the mean of their ranks: (C,) -> (C,)."""
    _, group, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[group].astype(np.float32)
