"""BM25, the baseline of published systems, from the library rank-bm25: the Okapi variant, k1 = 1.5, b = 0.75.

The trained retriever uses a faster index with the same scores, ``retriever.history.lexical``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from retriever.base import Index, Retriever, Scores
from retriever.history.lexical import EPSILON, K1, B, words

if TYPE_CHECKING:
    from rank_bm25 import BM25Okapi


class BM25Retriever(Retriever):
    name = "bm25"

    def index(self, documents: Sequence[Document]) -> Index:
        return OkapiIndex([words(document.text) for document in documents])


class OkapiIndex:
    def __init__(self, texts: Sequence[list[str]]) -> None:
        """Index texts; each is given as a list of its words."""
        self._size = len(texts)
        self._okapi: BM25Okapi | None = None
        if any(texts):  # without a word there is no mean length to divide by
            from rank_bm25 import BM25Okapi  # only here: other retrievers do without

            self._okapi = BM25Okapi(texts, k1=K1, b=B, epsilon=EPSILON)

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        scores = np.zeros(self._size)
        if self._okapi is not None:
            # a word that is asked for ten times is looked up once
            for word, times in Counter(words(request.text)).items():
                if word in self._okapi.idf:
                    scores += times * self._okapi.get_scores([word])
        return scores.astype(np.float32)
