"""Features that depend on one document alone ("readings"), so they stay valid when other documents change.

Dimensions in comments: C documents, E embedding size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pearl.records import Document
from retriever.history.lexical import hashed_words, words
from retriever.history.ragged import Places, Ragged, Terms, word_hashes
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import Encoder, Vectors

LONGEST_AREA = 60


@dataclass(frozen=True, slots=True)
class Readings:
    """The features of documents that depend on one document alone: words, areas and embeddings."""

    words: Ragged  # hashes of each text's words
    request_words: Ragged  # hashes of each request's words
    requests: tuple[str, ...]  # words of each request, with spaces between
    request_weights: NDArray[np.float32]  # total weight of the request's words, (C,)
    areas: Terms  # hash of the request's area, 0 without one, (C,)
    text_vectors: Vectors  # (C, E)
    request_vectors: Vectors  # of the request, or of the text if there is none, (C, E)

    @classmethod
    def of(cls, documents: Sequence[Document], encoder: Encoder, weights: WordWeights) -> Readings:
        """Compute the readings of at least one document."""
        texts = [document.text for document in documents]
        requests = [document.request or "" for document in documents]
        request_texts = [request or text for request, text in zip(requests, texts, strict=True)]
        vectors = encoder.encode_documents([*texts, *request_texts])
        tokenised = [words(request) for request in requests]
        return cls(
            hashed_words(texts),
            Ragged.of(
                word_hashes(word for tokens in tokenised for word in tokens), [len(tokens) for tokens in tokenised]
            ),
            tuple(map(" ".join, tokenised)),
            np.array([weights.sum(frozenset(tokens)) for tokens in tokenised], np.float32),
            area_hashes(requests),
            vectors[: len(texts)],
            vectors[len(texts) :],
        )

    @property
    def embedded(self) -> NDArray[np.bool_]:
        """True for each document whose text and request are both embedded, (C,)."""
        return np.isfinite(self.text_vectors[:, 0]) & np.isfinite(self.request_vectors[:, 0])

    def followed_by(self, others: Readings) -> Readings:
        return Readings(
            self.words.followed_by(others.words),
            self.request_words.followed_by(others.request_words),
            self.requests + others.requests,
            np.concatenate((self.request_weights, others.request_weights)),
            np.concatenate((self.areas, others.areas)),
            np.concatenate((self.text_vectors, others.text_vectors)),
            np.concatenate((self.request_vectors, others.request_vectors)),
        )

    def take(self, rows: Places) -> Readings:
        """Return the readings of the documents at ``rows``, in this order."""
        return Readings(
            self.words.take(rows),
            self.request_words.take(rows),
            tuple([self.requests[row] for row in rows]),
            self.request_weights[rows],
            self.areas[rows],
            self.text_vectors[rows],
            self.request_vectors[rows],
        )


def area_hashes(requests: Sequence[str]) -> Terms:
    """Return the hash of each request's area, (C,); 0 if the request names no area."""
    areas = [area(request) for request in requests]
    return np.where([bool(named) for named in areas], word_hashes(areas), np.uint64(0))


def area(request: str) -> str:
    """Return a request's area: the words before its first colon (``transport-helper: ask the helper``), "" without
    one."""
    head, colon, _ = request.partition(":")
    return head.strip().lower() if colon and len(head) < LONGEST_AREA else ""
