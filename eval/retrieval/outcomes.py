"""The outcome of choosing documents for a request, in the gains of the chosen.

Dimensions in comments: C candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pearl.records import Document
from pearl.stats import Floats
from retriever.base import oldest_first


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request under one model; gains in nats.

    ``top_score`` is s1, NaN where nothing was scored. ``best`` and ``mean`` are over all candidates, and so the same
    for every model.
    """

    top_score: float
    top1_gain: float
    topk_gain: float
    ndcg: float
    best: float
    mean: float


def ranked_outcome(scores: Floats, gains: Floats, ages: Floats, k: int) -> Outcome:
    """The outcome of choosing by ``scores``, the newest first among equals: ``ages`` grow with time. All are (C,)."""
    order = np.lexsort((-ages, -scores))
    return Outcome(
        top_score=float(scores[order[0]]),
        top1_gain=float(gains[order[0]]),
        topk_gain=float(gains[order[:k]].mean()),
        ndcg=ndcg(gains[order]),
        best=float(gains.max()),
        mean=float(gains.mean()),
    )


def random_outcome(gains: Floats) -> Outcome:
    """The exact expectation of choosing at random: each candidate is equally likely in each place."""
    relevance = np.maximum(gains, 0.0)
    ideal = _dcg(np.sort(relevance)[::-1])
    expected = float(relevance.mean() * _discounts(len(gains)).sum())
    mean = float(gains.mean())
    return Outcome(np.nan, mean, mean, expected / ideal if ideal else 0.0, float(gains.max()), mean)


def best_outcome(gains: Floats, k: int) -> Outcome:
    """The outcome of choosing by the gains themselves, which are unknown before the text is written."""
    return ranked_outcome(gains, gains, np.arange(len(gains), dtype=np.float64), k)


def ndcg(ranked_gains: Floats) -> float:
    """Normalised discounted cumulative gain of all candidates (Järvelin and Kekäläinen 2002), best first: (C,).

    The relevance of a candidate is max(gain, 0): a document that hinders is as good as none. 0 where no document
    helps, as trec_eval has it for requests without a relevant document.
    """
    relevance = np.maximum(ranked_gains, 0.0)
    ideal = _dcg(np.sort(relevance)[::-1])
    return _dcg(relevance) / ideal if ideal else 0.0


def _dcg(relevance: Floats) -> float:
    return float(relevance @ _discounts(len(relevance)))


def _discounts(size: int) -> Floats:
    return np.asarray(1.0 / np.log2(np.arange(2, size + 2)))


def ages(documents: Sequence[Document]) -> Floats:
    """Places in time, the oldest 0: by their timestamps, or, where one has none, by their order. (C,)"""
    places = np.empty(len(documents), np.float64)
    places[oldest_first(documents)] = np.arange(len(documents))
    return places
