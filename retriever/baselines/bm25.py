"""BM25 as a retriever (rank-bm25's Okapi variant)."""

from __future__ import annotations

from collections.abc import Sequence

from pearl.records import Document
from retriever.base import Index, Retriever
from retriever.history.lexical import BM25Index, hashed_words


class BM25Retriever(Retriever):
    name = "bm25"

    def index(self, documents: Sequence[Document]) -> Index:
        return BM25Index(hashed_words([document.text for document in documents]))
