"""A history labels itself: texts of the past stand for the unknown target, and what they share with a candidate is
what the target may share with it.

Dimensions in comments: C candidates oldest first, J texts that stand for the target, N n-grams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float32]

SEEN_WORDS = 125  # about what the auxiliary model sees of a document: what comes later cannot help it
STANDING = 16
LIKENESS_WIDTH = 0.2
RECENT = 8
RECENCY_DECAY = 0.7


@dataclass(frozen=True, slots=True)
class Copies:
    """What candidates share with past texts that stand for the target: log(1 + n-grams), (C,) each.

    With those most ``similar`` to the request, weighted by likeness, with the most ``recent``, weighted by recency,
    the ``most`` with any of them, and the ``share`` of the candidate's own n-grams; and how long those texts are,
    log(1 + words).
    """

    similar: Floats
    recent: Floats
    most: Floats
    share: Floats
    similar_words: float
    recent_words: float


class CopyIndex:
    """The n-grams of a history's texts."""

    def __init__(self, tokenised: Sequence[Sequence[str]]) -> None:
        self._ngrams = ngram_matrix([text[:SEEN_WORDS] for text in tokenised])  # (C, N)
        self._sizes = np.asarray(self._ngrams.sum(axis=1)).ravel()
        self._log_words = np.log1p([len(text) for text in tokenised])
        self.neighbours = self._with_the_one_before()

    def _with_the_one_before(self) -> Floats:
        """log(1 + n-grams shared) of each text with the one before it, (C,)."""
        shared = np.zeros(len(self._sizes), np.float32)
        if len(shared) > 1:
            shared[1:] = np.asarray(self._ngrams[1:].multiply(self._ngrams[:-1]).sum(axis=1)).ravel()
        return np.log1p(shared)

    @property
    def series(self) -> float:
        """How much the latest texts go on from each other."""
        return float(self.neighbours[-RECENT:].mean())

    def copies(self, likeness: Floats) -> Copies:
        """``likeness`` of each text's own request to the request, (C,)."""
        similar = np.argsort(-likeness, kind="stable")[:STANDING]  # (J,)
        recent = np.arange(len(likeness))[::-1][:RECENT]
        closeness = np.exp((likeness[similar] - likeness[similar[0]]) / LIKENESS_WIDTH)
        decay = RECENCY_DECAY ** np.arange(len(recent))
        by_likeness, most_similar = self._shared(similar, closeness)
        by_recency, most_recent = self._shared(recent, decay)
        return Copies(
            by_likeness,
            by_recency,
            np.maximum(most_similar, most_recent),
            np.expm1(by_likeness) / np.maximum(self._sizes, 1.0),
            float(np.average(self._log_words[similar], weights=closeness)),
            float(np.average(self._log_words[recent], weights=decay)),
        )

    def _shared(self, standing: NDArray[np.intp], weight: NDArray[np.floating]) -> tuple[Floats, Floats]:
        """The weighted mean and the most over the texts that stand; none stands for itself."""
        shared = np.log1p((self._ngrams[standing] @ self._ngrams.T).toarray())  # (J, C)
        weights = np.repeat(weight[:, None], shared.shape[1], axis=1)
        itself = (np.arange(len(standing)), standing)
        shared[itself] = weights[itself] = 0.0
        mean = (shared * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-9)
        return mean.astype(np.float32), shared.max(axis=0).astype(np.float32)


def ngram_matrix(tokenised: Sequence[Sequence[str]]) -> csr_matrix:
    """Which word bigrams and trigrams each text has, (C, N)."""
    from scipy.sparse import csr_matrix  # here, so that what ranks nothing does not load it

    found: list[int] = []
    starts = [0]
    for text in tokenised:
        found.extend(ngrams(text))
        starts.append(len(found))
    known, columns = np.unique(np.array(found, np.int64), return_inverse=True)
    return csr_matrix((np.ones(len(found), np.float32), columns, starts), (len(tokenised), len(known)))


def ngrams(text: Sequence[str]) -> set[int]:
    """By their hashes, which fit into an array."""
    pairs = {hash(pair) for pair in pairwise(text)}
    return pairs | {hash(triple) for triple in zip(text, text[1:], text[2:], strict=False)}
