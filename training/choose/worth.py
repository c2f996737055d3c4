"""The worth of a trained retriever on dev, and the reasons not to use it when that cannot be shown.

On 120 requests with true gains a retriever 5.1 nats better than BM25 (23.3 and 18.2) was told from it in 77% of draws
of 30 requests, in 43% of 10; a random order passed for better than BM25 in 5% of draws of 5, in none of 30.

Dimensions in comments: C candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pearl.stats.bootstrap import Bootstrap
from retriever.baselines.bm25 import BM25Retriever
from retriever.baselines.dense import DenseRetriever
from retriever.baselines.recent import RecentRetriever
from retriever.calibrated.head import Floats
from retriever.models.encoder import Encoder
from training.choose.measure import best_of
from training.data.records import Example, clusters_of

LEAST_REQUESTS = 30
SURE = 0.95  # of resamples, in which it must be better than the best baseline


@dataclass(frozen=True, slots=True)
class LeadOverBaseline:
    """Mean gains (nats) of the documents that the retriever and the best baseline choose on dev's requests, and in
    which share of resamples the retriever's is the higher. ``own``: on requests that it did not learn from."""

    requests: int
    top1_gain: float
    baseline: str
    baseline_top1_gain: float
    better_in: float
    own: bool

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why not to use it, each a clause; empty where nothing speaks against it."""
        clauses = []
        if not self.own:
            clauses.append("nothing was left to choose by but what it was trained on")
        if self.requests < LEAST_REQUESTS:
            clauses.append(
                f"{self.requests} scored request{'s' * (self.requests != 1)} to choose by, fewer than {LEAST_REQUESTS}"
            )
        if self.better_in < SURE:
            clauses.append(
                f"not surely better than {self.baseline} on dev: {self.top1_gain:.3g} nats and "
                f"{self.baseline_top1_gain:.3g}, better in {100 * self.better_in:.4g}% of resamples"
            )
        return tuple(clauses)


def worth_on(
    scores: Sequence[Floats], dev: Sequence[Example], encoder: Encoder, *, own: bool, seed: int
) -> LeadOverBaseline:
    """Compare with the baselines on dev's requests; ``scores`` are those of each request's candidates, (C,) each."""
    gains = [example.gains for example in dev]
    _, chosen = best_of(scores, gains)
    others = {}
    for retriever in (BM25Retriever(), DenseRetriever(encoder), RecentRetriever()):
        own_scores = [retriever.index(example.documents).scores(example.request) for example in dev]
        _, others[retriever.name] = best_of(own_scores, gains)
    best = max(others, key=lambda name: float(others[name].mean()))
    bootstrap = Bootstrap(clusters_of(dev), seed=seed)
    more = bootstrap.mean((chosen - others[best]).astype(np.float64))
    return LeadOverBaseline(
        len(dev),
        float(chosen.mean()),
        best,
        float(others[best].mean()),
        float((more.resampled > 0).mean()),
        own,
    )
