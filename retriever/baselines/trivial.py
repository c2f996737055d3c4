"""Trivial baselines, which ignore the request: the most recent documents first, or a random order."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from retriever.base import Index, Retriever, Scores, oldest_first


class RecentRetriever(Retriever):
    """Scores a document by recency, 1 / (1 + number of newer documents), so the newest scores 1."""

    name = "recent"

    def index(self, documents: Sequence[Document]) -> Index:
        """Order a history by time, or by position if any document has no time."""
        newer = np.empty(len(documents), np.float64)
        newer[oldest_first(documents)] = np.arange(len(documents))[::-1]
        return RecentIndex((1.0 / (1.0 + newer)).astype(np.float32))


class RecentIndex:
    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        return self._scores.copy()


class RandomRetriever(Retriever):
    """Scores documents at random in [0, 1). The same seed, request and number of documents give the same scores."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def index(self, documents: Sequence[Document]) -> Index:
        return RandomIndex(len(documents), self._seed)


class RandomIndex:
    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        generator = np.random.default_rng([self._seed, zlib.crc32(request.text.encode())])
        return generator.random(self._size, np.float32)
