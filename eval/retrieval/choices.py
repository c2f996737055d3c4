"""The documents that models may choose for each request (all, or without near-duplicates of the target), the models'
choices, and the gains of these choices.

Dimensions in comments: C candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from eval.retrieval.gains import GainsRecord, kept_documents
from eval.retrieval.scoring import ModelScores
from eval.stats.slices import Mask
from pearl.records import Document
from pearl.stats.bootstrap import Floats
from retriever.base import oldest_first

RANDOM, BEST = "random (expected)", "best possible"


@dataclass(frozen=True, slots=True)
class Candidates:
    """The documents of each record that a retriever may choose, and the retrievers' scores of the documents."""

    records: Sequence[GainsRecord]
    models: Sequence[ModelScores]
    kept: Sequence[Mask]  # for each record, True where a document may be chosen, at least once

    @classmethod
    def of_all(cls, records: Sequence[GainsRecord], models: Sequence[ModelScores]) -> Candidates:
        return cls(records, models, [np.ones(len(record.documents), bool) for record in records])

    def among(self, mask: Iterable[bool]) -> Candidates:
        mask = list(mask)
        models = [ModelScores(scored.model, tuple(compress(scored.scores, mask))) for scored in self.models]
        return Candidates(list(compress(self.records, mask)), models, list(compress(self.kept, mask)))

    def outcomes(self, k: int) -> Mapping[str, Sequence[ChoiceOutcome]]:
        return {
            scored.model: [
                ranked_outcome(scores[keep], gains, ages(record.documents)[keep], k)
                for record, scores, keep, gains in zip(
                    self.records, scored.scores, self.kept, self._gains(), strict=True
                )
            ]
            for scored in self.models
        }

    def trivial_outcomes(self, k: int) -> Mapping[str, Sequence[ChoiceOutcome]]:
        """Return the expected outcomes of random choice, and the outcomes of choosing by the true gains."""
        every = self._gains()
        return {RANDOM: [random_outcome(gains) for gains in every], BEST: [best_outcome(gains, k) for gains in every]}

    def _gains(self) -> list[Floats]:
        return [np.asarray(record.gains)[keep] for record, keep in zip(self.records, self.kept, strict=True)]


def set_aside(everything: Candidates, threshold: float) -> tuple[Candidates, Mapping[str, float]]:
    """Leave out documents that contain at least ``threshold`` of what the user really wrote (the target). Return the
    other candidates of records with a target, and counts of what was left out."""
    kept = [kept_documents(record, threshold) for record in everything.records]
    has_target = [record.target is not None for record in everything.records]
    usable = [known and any(keep) for known, keep in zip(has_target, kept, strict=True)]
    left = Candidates(everything.records, everything.models, list(map(np.array, kept))).among(usable)
    return left, {
        "threshold": threshold,
        "records_with_target": sum(has_target),
        "records_with_near_duplicates": sum(not all(keep) for keep in kept),
        "documents_set_aside": sum(len(keep) - sum(keep) for keep in kept),
        "records_left_without_documents": sum(has_target) - sum(usable),
    }


@dataclass(frozen=True, slots=True)
class ChoiceOutcome:
    """The outcome of a model's choice for one request; gains are in nats."""

    top_score: float  # s1, NaN where nothing was scored
    top1_gain: float
    topk_gain: float
    ndcg: float
    best: float  # highest gain of all candidates, the same for every model
    mean: float  # mean gain of all candidates, the same for every model


def ranked_outcome(scores: Floats, gains: Floats, ages: Floats, k: int) -> ChoiceOutcome:
    """Return the outcome of ranking documents by ``scores``, (C,); of equal scores, the newest document wins."""
    order = np.lexsort((-ages, -scores))
    return ChoiceOutcome(
        top_score=float(scores[order[0]]),
        top1_gain=float(gains[order[0]]),
        topk_gain=float(gains[order[:k]].mean()),
        ndcg=ndcg(gains[order]),
        best=float(gains.max()),
        mean=float(gains.mean()),
    )


def random_outcome(gains: Floats) -> ChoiceOutcome:
    """Return the expected outcome of random choice: each candidate is equally likely at each rank."""
    relevance = np.maximum(gains, 0.0)
    ideal = _dcg(np.sort(relevance)[::-1])
    expected = float(relevance.mean() * _discounts(len(gains)).sum())
    mean = float(gains.mean())
    return ChoiceOutcome(np.nan, mean, mean, expected / ideal if ideal else 0.0, float(gains.max()), mean)


def best_outcome(gains: Floats, k: int) -> ChoiceOutcome:
    """Return the best possible outcome: that of ranking by the gains themselves."""
    return ranked_outcome(gains, gains, np.arange(len(gains), dtype=np.float64), k)


def ndcg(ranked_gains: Floats) -> float:
    """Compute the normalised discounted cumulative gain (Järvelin and Kekäläinen 2002) of ranked gains, best first:
    (C,).

    The relevance of a candidate is max(gain, 0). 0 if no document helps.
    """
    relevance = np.maximum(ranked_gains, 0.0)
    ideal = _dcg(np.sort(relevance)[::-1])
    return _dcg(relevance) / ideal if ideal else 0.0


def _dcg(relevance: Floats) -> float:
    return float(relevance @ _discounts(len(relevance)))


def _discounts(size: int) -> Floats:
    return np.asarray(1.0 / np.log2(np.arange(2, size + 2)))


def ages(documents: Sequence[Document]) -> Floats:
    """Return the ranks of documents in time, (C,): 0 for the oldest; by their order if any has no timestamp."""
    ranks = np.empty(len(documents), np.float64)
    ranks[oldest_first(documents)] = np.arange(len(documents))
    return ranks
