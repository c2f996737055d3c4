"""BM25 over the words of the documents (rank-bm25's Okapi variant, k1 = 1.5, b = 0.75)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
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


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents that a word is in, and what it adds to their scores."""

    positions: NDArray[np.intp]
    weights: NDArray[np.float64]


class BM25Index:
    def __init__(self, tokenised: list[list[str]]) -> None:
        self._size = len(tokenised)
        # the library divides by the number of documents and by that of their words
        self._postings = postings(BM25Okapi(tokenised)) if any(tokenised) else {}

    def scores(self, request: Request) -> Scores:
        scores = np.zeros(self._size, np.float64)
        for word, times in Counter(words(request.text)).items():
            if word in self._postings:
                found = self._postings[word]
                scores[found.positions] += times * found.weights
        return scores.astype(np.float32)


def postings(bm25: BM25Okapi) -> dict[str, Postings]:
    """The library's scores, word by word.

    Its own ``get_scores`` looks into every document for every word of the request: 20 ms for a request of a page and
    590 documents.
    """
    found: dict[str, tuple[list[int], list[int]]] = {}
    for position, frequencies in enumerate(bm25.doc_freqs):
        for word, frequency in frequencies.items():
            positions, counts = found.setdefault(word, ([], []))
            positions.append(position)
            counts.append(frequency)
    dampings = bm25.k1 * (1 - bm25.b + bm25.b * np.asarray(bm25.doc_len) / bm25.avgdl)  # (C,)
    weighed = {}
    for word, (positions, counts) in found.items():
        frequency = np.asarray(counts)
        weights = bm25.idf[word] * frequency * (bm25.k1 + 1) / (frequency + dampings[positions])
        weighed[word] = Postings(np.asarray(positions), weights)
    return weighed
