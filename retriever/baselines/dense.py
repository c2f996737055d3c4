"""Dense retrieval by inner products of embeddings, of texts or of requests, and its fusion with BM25."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from retriever.base import Index, Retriever, Scores
from retriever.models.encoder import Encoder, Vectors


class DenseRetriever(Retriever):
    name = "dense"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def fingerprint(self) -> str:
        return f"{self.name} {self._encoder.name}"

    def index(self, documents: Sequence[Document]) -> Index:
        if not documents:
            return DenseIndex(None, self._encoder)
        return DenseIndex(self._encoder.encode_documents([document.text for document in documents]), self._encoder)


class DenseRequestsRetriever(DenseRetriever):
    """Scores a document by the request's cosine with the document's own request; without one, with its text."""

    name = "dense-requests"

    def index(self, documents: Sequence[Document]) -> Index:
        return super().index([replace(document, text=document.request or document.text) for document in documents])


class DenseSumRetriever(Retriever):
    """Scores a document by the sum of two cosines with the request: of the document's text and of its own request.

    If a document has no request, the text's cosine counts twice; otherwise it would rank below almost all others.
    """

    name = "dense-sum"

    def __init__(self, encoder: Encoder) -> None:
        self._parts = (DenseRetriever(encoder), DenseRequestsRetriever(encoder))

    @property
    def fingerprint(self) -> str:
        return " ".join((self.name, *(part.fingerprint for part in self._parts)))

    def index(self, documents: Sequence[Document]) -> Index:
        texts, requests = (part.index(documents) for part in self._parts)
        return DenseSumIndex(texts, requests)


class DenseSumIndex:
    def __init__(self, texts: Index, requests: Index) -> None:
        self._texts = texts
        self._requests = requests

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        return self._texts.scores(request, clock) + self._requests.scores(request, clock)


class DenseIndex:
    def __init__(self, vectors: Vectors | None, encoder: Encoder) -> None:
        """Index ``vectors``, (C, E); None for an empty history. If any is NaN (not embedded yet), all documents score
        0, because the embedded ones would outrank the others."""
        self._encoder = encoder
        self._index = None
        self._size = 0 if vectors is None else len(vectors)
        if vectors is not None and np.isfinite(vectors[:, 0]).all():
            import faiss  # only here: other retrievers do without, and it takes long to load

            self._index = faiss.IndexFlatIP(vectors.shape[1])
            self._index.add(vectors)

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        if self._index is None:
            return np.zeros(self._size, np.float32)
        cosines, positions = self._index.search(self._encoder.encode_request(request.text), self._index.ntotal)
        scores = np.empty(self._index.ntotal, np.float32)
        scores[positions[0]] = cosines[0]
        return scores


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
    """Return each score's rank, (C,), counted from 1 for the highest. Equal scores get the mean of their ranks."""
    _, group, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[group].astype(np.float32)
