"""The documents that may be chosen for each record, and what models choose: all, or those unlike the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.retrieval.gains import GainsRecord, kept_documents
from eval.retrieval.outcomes import Outcome, ages, best_outcome, random_outcome, ranked_outcome
from eval.retrieval.scoring import ModelScores
from eval.stats.slices import Mask
from pearl.stats import Floats

RANDOM, BEST = "random (expected)", "best possible"


@dataclass(frozen=True, slots=True)
class Candidates:
    """``kept[i][j]``: whether document j of record i may be chosen; at least one of each record may."""

    records: Sequence[GainsRecord]
    models: Sequence[ModelScores]
    kept: Sequence[Sequence[bool]]

    @classmethod
    def of_all(cls, records: Sequence[GainsRecord], models: Sequence[ModelScores]) -> Candidates:
        return cls(records, models, [(True,) * len(record.documents) for record in records])

    def among(self, mask: Sequence[bool]) -> Candidates:
        places = [place for place, wanted in enumerate(mask) if wanted]
        return Candidates(
            [self.records[place] for place in places],
            [ModelScores(scored.model, tuple(scored.scores[place] for place in places)) for scored in self.models],
            [self.kept[place] for place in places],
        )

    def outcomes(self, k: int) -> Mapping[str, Sequence[Outcome]]:
        return {
            scored.model: [
                ranked_outcome(scores[keep], gains, ages(record.documents)[keep], k)
                for record, scores, keep, gains in zip(
                    self.records, scored.scores, self._masks(), self._gains(), strict=True
                )
            ]
            for scored in self.models
        }

    def trivial_outcomes(self, k: int) -> Mapping[str, Sequence[Outcome]]:
        """The outcomes of choosing at random, as they are expected, and by the gains themselves."""
        every = self._gains()
        return {RANDOM: [random_outcome(gains) for gains in every], BEST: [best_outcome(gains, k) for gains in every]}

    def _masks(self) -> list[Mask]:
        return [np.asarray(keep) for keep in self.kept]

    def _gains(self) -> list[Floats]:
        return [np.asarray(record.gains)[keep] for record, keep in zip(self.records, self._masks(), strict=True)]


@dataclass(frozen=True, slots=True)
class Remainder:
    """The choices left of records that say their target, and counts of what went."""

    left: Candidates
    counts: Mapping[str, float]


def set_aside(everything: Candidates, threshold: float) -> Remainder:
    """Set aside the documents that repeat at least ``threshold`` of their record's target."""
    kept = [kept_documents(record, threshold) for record in everything.records]
    has_target = [record.target is not None for record in everything.records]
    usable = [known and any(keep) for known, keep in zip(has_target, kept, strict=True)]
    return Remainder(
        Candidates(everything.records, everything.models, kept).among(usable),
        {
            "threshold": threshold,
            "records_with_target": sum(has_target),
            "records_with_near_duplicates": sum(not all(keep) for keep in kept),
            "documents_set_aside": sum(len(keep) - sum(keep) for keep in kept),
            "records_left_without_documents": sum(has_target) - sum(usable),
        },
    )
