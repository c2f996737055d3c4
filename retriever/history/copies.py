"""Signals of copying: how many n-grams would a candidate share with the text to be written? That text (the target) is
unknown, so past texts stand in for it: the most similar and the most recent.

Dimensions in comments: C candidates oldest first, J texts used in place of the target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retriever.history.postings import Postings
from retriever.history.ragged import Places, Ragged, pairs_and_triples

Floats = NDArray[np.float32]

SEEN_WORDS = 125  # about as many as the auxiliary model sees of a document; later ones cannot help
STANDING = 16
LIKENESS_WIDTH = 0.2
RECENT = 8
RECENCY_DECAY = 0.7


@dataclass(frozen=True, slots=True)
class Copies:
    """Numbers of n-grams, as log(1 + count), that each candidate shares with past texts, in place of the target."""

    similar: Floats  # with the texts most similar to the request, weighted by likeness, (C,)
    recent: Floats  # with the most recent texts, weighted by recency, (C,)
    most: Floats  # the most with any of these texts, (C,)
    share: Floats  # n-grams of ``similar`` as a share of the candidate's, no logarithm, (C,)
    similar_words: float  # mean length of the similar texts, log(1 + words)
    recent_words: float  # mean length of the recent texts, log(1 + words)


class CopyIndex:
    """An index of the word bigrams and trigrams that a history's texts share. The history must not be empty."""

    def __init__(self, texts: Ragged) -> None:
        """Index texts, each given as its words' hashes, oldest first."""
        self._texts = texts
        postings = self._postings_of(np.arange(len(texts.lengths)))
        self._sizes = postings.different().astype(np.float32)
        self.neighbours = np.log1p(postings.shared_with_the_one_before().astype(np.float32))
        self._postings = postings.shared()
        self._log_words = np.log1p(texts.lengths)
        recent = np.arange(len(texts.lengths))[::-1][:RECENT]  # whatever the request is
        decay = RECENCY_DECAY ** np.arange(len(recent))
        self._recent, self._most_recent = self._shared(recent, decay)
        self._recent_words = float(np.average(self._log_words[recent], weights=decay))

    def _postings_of(self, positions: Places) -> Postings:
        """Return the postings of the n-grams in these texts."""
        return Postings(*pairs_and_triples(self._texts.take(positions, SEEN_WORDS)), len(positions))

    @property
    def series(self) -> float:
        """The mean, over the latest texts, of log(1 + number of n-grams shared with the text before)."""
        return float(self.neighbours[-RECENT:].mean())

    def copies(self, likeness: Floats) -> Copies:
        """Count the shared n-grams. ``likeness``: similarity of each document's request to the present request,
        (C,)."""
        similar = np.argsort(-likeness, kind="stable")[:STANDING]  # (J,)
        closeness = np.exp((likeness[similar] - likeness[similar[0]]) / LIKENESS_WIDTH)
        by_likeness, most_similar = self._shared(similar, closeness)
        return Copies(
            by_likeness,
            self._recent,
            np.maximum(most_similar, self._most_recent),
            np.asarray(np.expm1(by_likeness) / np.maximum(self._sizes, 1.0), np.float32),
            float(np.average(self._log_words[similar], weights=closeness)),
            self._recent_words,
        )

    def _shared(self, standing: Places, weight: NDArray[np.floating]) -> tuple[Floats, Floats]:
        """Return the weighted mean and the maximum of shared n-grams over the texts ``standing``, (C,) each; a text
        does not count for itself."""
        terms, owners = self._postings_of(standing).pairs()
        hits = self._postings.find(terms)
        cells = owners[hits.places] * self._postings.size + hits.documents
        counts = np.bincount(cells, minlength=len(standing) * self._postings.size)
        shared = np.log1p(counts.reshape(len(standing), -1).astype(np.float32))  # (J, C)
        weights = np.repeat(weight[:, None], shared.shape[1], axis=1)
        itself = (np.arange(len(standing)), standing)
        shared[itself] = weights[itself] = 0.0
        mean = (shared * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-9)
        return mean.astype(np.float32), shared.max(axis=0).astype(np.float32)
