"""The generation-calibrated retriever: signals over the whole history, the cross-encoder over the best of it.

Its score s follows the gain: s = 0 stands where the gain is the anchor y0, and one more is tau nats more (equations 2
and 3 of papers/pearl.txt). Dimensions in comments: C candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pearl.records import Document, Request
from retriever.base import Calibration, Index, Retriever, Scores, best_first
from retriever.cross_encoder import CrossEncoderModel
from retriever.encoder import Encoder
from retriever.head import SignalHead
from retriever.signals import SignalIndex
from retriever.word_weights import WordWeights

RERANKED = 32


class CalibratedRetriever(Retriever):
    """``cross_encoder`` None: the first stage alone."""

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        weights: WordWeights,
        head: SignalHead,
        cross_encoder: CrossEncoderModel | None,
        calibration: Calibration,
        reranked: int = RERANKED,
        origin: str = "",
    ) -> None:
        self.name = name
        self.origin = origin
        self.calibration = calibration
        self._encoder = encoder
        self._weights = weights
        self._head = head
        self._cross_encoder = cross_encoder
        self._reranked = reranked

    def index(self, documents: Sequence[Document]) -> Index:
        return CalibratedIndex(documents, self)

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them."""
        if self._cross_encoder is not None:
            self._cross_encoder.load()

    def signal_index(self, documents: Sequence[Document]) -> SignalIndex:
        return SignalIndex(documents, self._encoder, self._weights)

    def scores(self, request: Request, documents: Sequence[Document], signals: SignalIndex) -> Scores:
        """(C,); what the cross-encoder did not see stands below what it saw, in the first stage's order."""
        first = self._head.logits(signals.signals(request))
        if self._cross_encoder is None:
            return first
        positions = best_first(first)
        best, rest = positions[: self._reranked], positions[self._reranked :]
        scores = first.copy()
        scores[best] += self._cross_encoder.logits(request, [documents[position] for position in best])
        if len(rest):
            highest = np.nextafter(scores[best].min(), np.float32(-np.inf))
            scores[rest] -= max(first[rest[0]] - highest, np.float32(0.0))
            scores[rest] = np.minimum(scores[rest], highest)  # where the difference was rounded
        return scores


class CalibratedIndex:
    def __init__(self, documents: Sequence[Document], retriever: CalibratedRetriever) -> None:
        self._documents = documents
        self._retriever = retriever
        self._signals = retriever.signal_index(documents) if documents else None

    def scores(self, request: Request) -> Scores:
        if self._signals is None:
            return np.zeros(0, np.float32)
        return self._retriever.scores(request, self._documents, self._signals)
