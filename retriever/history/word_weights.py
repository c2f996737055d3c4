"""The weight of a word: its inverse document frequency in a background corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pearl.records import Document
from retriever.history.lexical import words

Floats = NDArray[np.float32]

BUCKETS = 2**15


class WordWeights:
    """The weights of words, from a background corpus because a short history cannot tell which words are rare. They are
    stored by the words' hashes, so that no word can be read from an artifact."""

    def __init__(self, weights: Floats) -> None:
        """``weights``: the weight of each hash bucket, (BUCKETS,)."""
        self.weights = weights

    @classmethod
    def count(cls, texts: Iterable[str]) -> WordWeights:
        counts, total = np.zeros(BUCKETS), 0
        for text in texts:
            counts[list({bucket(word) for word in words(text)})] += 1
            total += 1
        return cls(np.log((total + 1) / (counts + 0.5)).astype(np.float32))

    @classmethod
    def of_histories(cls, histories: Iterable[Sequence[Document]]) -> WordWeights:
        """Weigh words by inverse document frequency in these histories; a document is a text with its request."""
        return cls.count(f"{document.request or ''} {document.text}" for history in histories for document in history)

    def of(self, vocabulary: Sequence[str]) -> Floats:
        return self.weights[[bucket(word) for word in vocabulary]]

    def sum(self, vocabulary: frozenset[str]) -> float:
        return float(self.of(sorted(vocabulary)).sum()) if vocabulary else 0.0


def bucket(word: str) -> int:
    return crc32(word.encode()) % BUCKETS
