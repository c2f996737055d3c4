"""BM25 over the words of the documents (rank-bm25's Okapi variant, k1 = 1.5, b = 0.75)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from pearl.records import Document, Request
from retriever.base import Index, Retriever, Scores

WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Lower-cased runs of letters, digits and underscores, of any script."""
    return WORD.findall(text.lower())


class BM25Retriever(Retriever):
    name = "bm25"

    def index(self, documents: Sequence[Document]) -> Index:
        return BM25Index([words(document.text) for document in documents])


class BM25Index:
    def __init__(self, tokenised: list[list[str]]) -> None:
        self._size = len(tokenised)
        # the library divides by the number of documents and by that of their words
        self._bm25 = BM25Okapi(tokenised) if any(tokenised) else None

    def scores(self, request: Request) -> Scores:
        query = words(request.text)
        if self._bm25 is None or not query:
            return np.zeros(self._size, np.float32)
        return np.asarray(self._bm25.get_scores(query), np.float32)
