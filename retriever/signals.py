"""Cheap signals of how much a document will help: what can be read off a history in milliseconds.

Dimensions in comments: C candidates, S signals, E embedding size.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from pearl.records import Document, Request
from retriever.base import oldest_first
from retriever.copies import CopyIndex
from retriever.encoder import Encoder
from retriever.lexical import BM25Index, words
from retriever.word_weights import WordWeights

Floats = NDArray[np.float32]

UNKNOWN_GAP = -1.0
MINUTE, DAY = 60.0, 86400.0
LONGEST_AREA = 60
COMPARED_LETTERS = 400  # the time is their product: a page against the pages of a history would take seconds

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
    """One history of at least one document, made ready for many requests."""

    def __init__(self, documents: Sequence[Document], encoder: Encoder, weights: WordWeights) -> None:
        self._encoder = encoder
        self._weights = weights
        self._order = oldest_first(documents)
        ordered = [documents[place] for place in self._order]
        texts = [document.text for document in ordered]
        requests = [document.request or "" for document in ordered]
        self._has_request = np.array([bool(request) for request in requests], np.float32)  # (C,)
        self._times = np.array([math.nan if each.timestamp is None else each.timestamp for each in ordered])
        asked = [request or text for request, text in zip(requests, texts, strict=True)]
        vectors = encoder.encode_documents([*texts, *asked])
        self._text_vectors, self._request_vectors = vectors[: len(texts)], vectors[len(texts) :]  # (C, E)
        tokenised, own = [words(text) for text in texts], [words(request) for request in requests]
        self._words, self._request_words = list(map(frozenset, tokenised)), list(map(frozenset, own))
        self._request_weight = np.array([weights.sum(each) for each in self._request_words], np.float32)
        self._requests = [" ".join(each) for each in own]
        self._beginnings = [request[:COMPARED_LETTERS] for request in self._requests]
        self._trigrams = [trigrams(request) for request in self._requests]
        self._areas = [area(request) for request in requests]
        self._log_words = np.log1p([len(text) for text in tokenised])
        self._bm25_text, self._bm25_request = BM25Index(tokenised), BM25Index(own)
        self._copies = CopyIndex(tokenised)

    def signals(self, request: Request) -> Floats:
        """(C, S), columns as NAMES, rows in the documents' order."""
        found = self._likeness(request) | self._age(request)
        likeness = found["letters_request"] + found["cosine_request"]
        copies = self._copies.copies(likeness.astype(np.float32))
        found |= {
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
        columns = np.empty((len(self._order), len(NAMES)), np.float32)
        for place, name in enumerate(NAMES):
            if name in of_all:
                columns[self._order, place] = of_all[name]
            elif name.endswith("_below_best"):
                own = found[name.removesuffix("_below_best")]
                columns[self._order, place] = own - own.max()
            elif name == "log_gap_above_least":
                columns[self._order, place] = found["log_gap"] - found["log_gap"].min()
            elif name.startswith("best_"):
                columns[self._order, place] = found[name.removeprefix("best_")].max()
            else:
                columns[self._order, place] = found[name]
        return columns

    def _likeness(self, request: Request) -> dict[str, Floats]:
        """How alike the request is to each text and to the request that the text answered."""
        vector = self._encoder.encode_request(request.text)[0]  # (E,)
        asked = words(request.text)
        known = frozenset(asked)
        weight = self._weights.sum(known) or 1.0
        shared = self._weights.shared(known, self._request_words)
        mine, where, said = trigrams(" ".join(asked)), area(request.text), " ".join(asked)
        prefix, suffix = self._common_ends(asked)
        return {
            "bm25_text": self._bm25_text.scores(request) / max(len(known), 1),
            "bm25_request": self._bm25_request.scores(request) / max(len(known), 1),
            "cosine_text": self._text_vectors @ vector,
            "cosine_request": self._request_vectors @ vector,
            "overlap_text": self._weights.shared(known, self._words) / weight,
            "overlap_request": shared / weight,
            "covered_request": shared / np.maximum(self._request_weight, 1e-6),
            "same_area": np.array([bool(where) and where == other for other in self._areas], np.float32),
            "trigrams_request": np.array([jaccard(mine, other) for other in self._trigrams], np.float32),
            "letters_request": self._letters(said),
            "prefix_words": prefix,
            "suffix_words": suffix,
        }

    def _letters(self, said: str) -> Floats:
        """How alike the request and the documents' own are letter by letter, 0 to 1, (C,)."""
        if not said:  # else the library would find it the same as the request of a document without one
            return np.zeros(len(self._requests), np.float32)
        found = process.cdist([said[:COMPARED_LETTERS]], self._beginnings, scorer=fuzz.ratio)[0]
        return np.asarray(found / np.float32(100), np.float32)

    def _age(self, request: Request) -> dict[str, Floats]:
        """How long before the request a text was written, and how many were written since."""
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

    def _common_ends(self, asked: Sequence[str]) -> tuple[Floats, Floats]:
        """How many words the request begins and ends with as a document's own request does, log(1 + n), (C,) each."""
        others = [other.split() for other in self._requests]
        prefix = [_run(asked, other) for other in others]
        suffix = [_run(asked[::-1], other[::-1]) for other in others]
        return np.log1p(np.array(prefix, np.float32)), np.log1p(np.array(suffix, np.float32))


def trigrams(text: str) -> frozenset[str]:
    """Runs of three characters of a text between spaces."""
    padded = f" {text} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 0.0


def _run(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    for place, (mine, its) in enumerate(zip(one, other, strict=False)):
        if mine != its:
            return place
    return min(len(one), len(other))


def area(request: str) -> str:
    """What stands before the first colon, as in ``transport-helper: ask the helper``: what it is about."""
    head, colon, _ = request.partition(":")
    return head.strip().lower() if colon and len(head) < LONGEST_AREA else ""
