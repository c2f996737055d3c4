"""The most recent documents first, whatever is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from retriever.base import Index, Retriever, Scores, oldest_first


class RecentRetriever(Retriever):
    """1 / (1 + number of newer documents): 1 for the newest of any history."""

    name = "recent"

    def index(self, documents: Sequence[Document]) -> Index:
        """Index documents by time, or by position if one has no time."""
        newer = np.empty(len(documents), np.float64)
        newer[oldest_first(documents)] = np.arange(len(documents))[::-1]
        return RecentIndex((1.0 / (1.0 + newer)).astype(np.float32))


class RecentIndex:
    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        return self._scores.copy()
