"""Cheap signals of how much a document will help, computed in milliseconds.

Dimensions in comments: C candidates, S signals, E embedding size, Q different words of the request.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from pearl.records import Document, Request
from retriever.base import content, oldest_first
from retriever.history.copies import CopyIndex
from retriever.history.lexical import BM25Index, words
from retriever.history.postings import Postings
from retriever.history.ragged import letter_triples, word_hashes
from retriever.history.readings import Readings, area_hashes
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import Encoder

Floats = NDArray[np.float32]

UNKNOWN_GAP = -1.0
MINUTE, DAY = 60.0, 86400.0
COMPARED_LETTERS = 400  # of each request; time grows with the product of lengths, and pages would take seconds

# what a head is trained on, in this order; another list is another kind of artifact
NAMES = (
    "bm25_text",
    "bm25_request",
    "cosine_text",
    "cosine_request",
    "overlap_text",
    "overlap_request",
    "covered_request",
    "same_area",
    "trigrams_request",
    "letters_request",
    "prefix_words",
    "suffix_words",
    "log_gap",
    "gap_known",
    "within_15_minutes",
    "within_a_day",
    "log_recency",
    "log_words",
    "log_request_words",
    "log_candidates",
    "has_request",
    "bm25_text_below_best",
    "cosine_text_below_best",
    "cosine_request_below_best",
    "overlap_request_below_best",
    "trigrams_request_below_best",
    "letters_request_below_best",
    "similar_copies_below_best",
    "recent_copies_below_best",
    "log_gap_above_least",
    "similar_copies",
    "recent_copies",
    "most_copied",
    "copied_share",
    "similar_words",
    "recent_words",
    "series",
    "neighbour_copies",
    "best_cosine_request",
    "best_overlap_request",
    "best_letters_request",
    "best_similar_copies",
    "best_recent_copies",
)


class SignalIndex:
    """A history of at least one document, indexed to compute its documents' signals for many requests."""

    def __init__(
        self,
        documents: Sequence[Document],
        encoder: Encoder,
        weights: WordWeights,
        previous: SignalIndex | None = None,
    ) -> None:
        """Index a history. ``previous``: an index with the same encoder and weights; documents in it are not computed
        again."""
        self._encoder = encoder
        self._weights = weights
        self._order = oldest_first(documents)
        self._documents = [documents[index] for index in self._order]
        self._readings = self._read(previous)
        times = [math.nan if document.timestamp is None else document.timestamp for document in self._documents]
        self._times = np.array(times)  # (C,)
        self._has_request = np.array([bool(document.request) for document in self._documents], np.float32)
        self._log_words = np.log1p(self._readings.words.lengths)
        self._beginnings = [request[:COMPARED_LETTERS] for request in self._readings.requests]
        self._texts = BM25Index(self._readings.words)
        self._requests = BM25Index(self._readings.request_words)
        self._letters = Postings(*letter_triples(self._readings.requests), len(documents))
        self._different_letters = self._letters.different()
        self._copies = CopyIndex(self._readings.words)
        self._latest = threading.local()

    def _read(self, previous: SignalIndex | None) -> Readings:
        """Return the documents' readings; only documents that ``previous`` lacks are computed, without duplicates."""
        rows: dict[tuple[str, str], int] = {}
        readings = None
        if previous is not None:
            readings = previous._readings
            embedded = readings.embedded
            rows = {content(document): row for row, document in enumerate(previous._documents) if embedded[row]}
        new = {content(document): document for document in self._documents if content(document) not in rows}
        if new:
            fresh = Readings.of(list(new.values()), self._encoder, self._weights)
            rows |= {content: row for row, content in enumerate(new, start=len(readings.requests) if readings else 0)}
            readings = readings.followed_by(fresh) if readings else fresh
        assert readings is not None, "there is at least one document"
        return readings.take(np.array([rows[content(document)] for document in self._documents]))

    def _vector(self, request: Request) -> Floats:
        """Return the request's embedding, (E,). Each thread keeps its latest one, which is needed twice."""
        text, vector = getattr(self._latest, "request", (None, np.empty(0, np.float32)))
        if text != request.text:
            vector = self._encoder.encode_request(request.text)[0]
            self._latest.request = request.text, vector
        return vector

    def relatedness(self, request: Request) -> Floats:
        """Return each document's relatedness to the request, (C,), in the documents' order. It is the higher of two
        cosines: with the document's text and with its own request. NaN if an embedding is missing."""
        vector = self._vector(request)  # (E,)
        cosines = np.empty(len(self._order), np.float32)
        cosines[self._order] = np.maximum(self._readings.text_vectors @ vector, self._readings.request_vectors @ vector)
        return cosines

    def signals(self, request: Request) -> Floats:
        """Return the signals of all documents, (C, S), in the documents' order; NaN if an embedding is missing."""
        vector = self._vector(request)  # (E,)
        signals = self._likeness(request, vector) | self._age(request)
        likeness = signals["letters_request"] + np.nan_to_num(signals["cosine_request"])
        copies = self._copies.copies(likeness.astype(np.float32))
        signals |= {
            "similar_copies": copies.similar,
            "recent_copies": copies.recent,
            "most_copied": copies.most,
            "copied_share": copies.share,
            "neighbour_copies": self._copies.neighbours,
            "log_words": self._log_words,
            "has_request": self._has_request,
        }
        of_all = {
            "log_request_words": math.log1p(len(set(words(request.text)))),
            "log_candidates": math.log1p(len(self._order)),
            "similar_words": copies.similar_words,
            "recent_words": copies.recent_words,
            "series": self._copies.series,
        }
        rows = np.empty((len(NAMES), len(self._order)), np.float32)  # (S, C)
        for row, name in zip(rows, NAMES, strict=True):
            if name in of_all:
                row[:] = of_all[name]
            elif name.endswith("_below_best"):
                values = signals[name.removesuffix("_below_best")]
                row[:] = values - _best(values)
            elif name == "log_gap_above_least":
                row[:] = signals["log_gap"] - signals["log_gap"].min()
            elif name.startswith("best_"):
                row[:] = _best(signals[name.removeprefix("best_")])
            else:
                row[:] = signals[name]
        columns = np.empty((len(self._order), len(NAMES)), np.float32)
        columns[self._order] = rows.T
        return columns

    def _likeness(self, request: Request, vector: Floats) -> dict[str, Floats]:
        """Return signals of the request's similarity to each document's text and own request, by name, (C,) each."""
        tokens = words(request.text)
        hashed, joined, readings = word_hashes(tokens), " ".join(tokens), self._readings
        times = Counter(tokens)  # (Q,)
        different, counts = word_hashes(times), np.array(list(times.values()))
        weights = self._weights.of(list(times))
        in_texts, in_requests = self._texts.postings.find(different), self._requests.postings.find(different)
        shared = in_requests.sums(weights)
        weight = self._weights.sum(frozenset(tokens)) or 1.0
        return {
            "bm25_text": self._texts.weigh(in_texts, counts) / max(len(times), 1),
            "bm25_request": self._requests.weigh(in_requests, counts) / max(len(times), 1),
            "cosine_text": readings.text_vectors @ vector,
            "cosine_request": readings.request_vectors @ vector,
            "overlap_text": in_texts.sums(weights) / weight,
            "overlap_request": shared / weight,
            "covered_request": shared / np.maximum(readings.request_weights, 1e-6),
            "same_area": self._same_area(request),
            "trigrams_request": self._shared_triples(joined),
            "letters_request": self._alike_by_letters(joined),
            "prefix_words": np.log1p(readings.request_words.common_beginnings(hashed).astype(np.float32)),
            "suffix_words": np.log1p(readings.request_words.common_ends(hashed).astype(np.float32)),
        }

    def _same_area(self, request: Request) -> Floats:
        wanted = area_hashes([request.text])
        return np.asarray((self._readings.areas == wanted) & (wanted != 0), np.float32)

    def _shared_triples(self, request: str) -> Floats:
        """Return the Jaccard index of character trigrams in the request and each document's request, (C,)."""
        wanted = np.unique(letter_triples([request])[0])
        shared = self._letters.find(wanted).terms()
        either = len(wanted) + self._different_letters - shared
        return np.asarray(shared / np.maximum(either, 1), np.float32)

    def _alike_by_letters(self, request: str) -> Floats:
        """Return the similarity of the request to each document's request by characters, 0 to 1, (C,)."""
        if not request:  # else the library would find it the same as the request of a document without one
            return np.zeros(len(self._order), np.float32)
        ratios = process.cdist([request[:COMPARED_LETTERS]], self._beginnings, scorer=fuzz.ratio)[0]
        return np.asarray(ratios / np.float32(100), np.float32)

    def _age(self, request: Request) -> dict[str, Floats]:
        """Return signals of each document's age and of how many texts are newer, by name, (C,) each."""
        now = time.time() if request.timestamp is None else request.timestamp
        gap = np.maximum(now - self._times, 0.0)
        known = np.isfinite(gap)
        gap = np.where(known, gap, 0.0)
        return {
            "log_gap": np.where(known, np.log1p(gap), UNKNOWN_GAP).astype(np.float32),
            "gap_known": known.astype(np.float32),
            "within_15_minutes": (known & (gap <= 15 * MINUTE)).astype(np.float32),
            "within_a_day": (known & (gap <= DAY)).astype(np.float32),
            "log_recency": np.log1p(np.arange(len(known))[::-1]).astype(np.float32),
        }


def _best(values: Floats) -> float:
    """Return the largest value that is not NaN; NaN if all are."""
    return float(np.fmax.reduce(values))
