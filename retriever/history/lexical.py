"""BM25 over the words of the documents (rank-bm25's Okapi variant, k1 = 1.5, b = 0.75).

Dimensions in comments: C documents, Q words of the request, H hits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pearl.clock import Clock
from pearl.records import Request
from pearl.text.words import SIGN, folded, word_spots, words_of
from retriever.base import Scores
from retriever.history.postings import Hits, Postings
from retriever.history.ragged import Places, Ragged, word_hashes

WORD = re.compile(r"\w+")
K1, B = 1.5, 0.75
EPSILON = 0.25  # of the mean idf: what a word in more than half of the documents has instead of a negative one


def words(text: str) -> list[str]:
    """Split a text into lower-cased words, with variant spellings unified. In scripts without spaces between words,
    each pair of neighbouring characters is a word."""
    text = folded(text)
    if text.isascii() or not SIGN.search(text):
        return words_of(WORD, text)
    pieces: list[str] = []
    paired = False  # with the sign before
    for (start, end), (following, last) in pairwise([*word_spots(WORD, text), (-1, -1)]):
        pairs = following == end and SIGN.match(text, start) and SIGN.match(text, following)
        if pairs or not paired:
            pieces.append(text[start : last if pairs else end])
        paired = bool(pairs)
    return pieces


def hashed_words(texts: Sequence[str]) -> Ragged:
    """Return the hashes of each text's words, in order."""
    tokenised = [words(text) for text in texts]
    return Ragged.of(word_hashes(word for text in tokenised for word in text), [len(text) for text in tokenised])


class BM25Index:
    def __init__(self, texts: Ragged) -> None:
        """Index texts, each given as its words' hashes."""
        self.postings = Postings(texts.values, texts.owners(), len(texts.lengths))
        mean_length = texts.values.size / max(len(texts.lengths), 1)
        self._dampings = K1 * (1 - B + B * texts.lengths / max(mean_length, 1e-9))  # (C,)
        spread = self.postings.spread()[1:]  # over the words
        self._mean_idf = (spread * self._idf(np.arange(1, len(spread) + 1))).sum() / max(spread.sum(), 1)

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        times = Counter(words(request.text))
        return self.weigh(self.postings.find(word_hashes(times)), np.array(list(times.values())))

    def weigh(self, hits: Hits, times: Places) -> Scores:
        """Return each document's BM25 score, (C,). ``hits``: where the request's words occur; ``times``: how often each
        word is in the request, (Q,)."""
        idf = self._idf(hits.found)  # (Q,)
        idf[idf < 0] = EPSILON * self._mean_idf
        weights = idf[hits.places] * hits.counts * (K1 + 1) / (hits.counts + self._dampings[hits.documents])  # (H,)
        scores = np.bincount(hits.documents, times[hits.places] * weights, self.postings.size)
        return scores.astype(np.float32)

    def _idf(self, documents: Places) -> NDArray[np.float64]:
        """Return the inverse document frequency of words that occur in the given numbers of documents."""
        return np.asarray(np.log(self.postings.size - documents + 0.5) - np.log(documents + 0.5))
