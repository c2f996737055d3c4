"""The figures of ``pearl eval revision``: no revision, revising all, and revising below a threshold on s1
(papers/pearl.txt, section 5.3, table 3 and figure 5).

Dimensions in comments: N requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from eval.drafts.cases import Case
from eval.drafts.comparison import Mask, Measures, Yardstick, chances, mixed
from eval.drafts.generation import complete, counts
from eval.drafts.systems import System
from eval.report.metric import Figures, Metric, figures, less, to_json
from eval.retrieval.gains import clusters, request_slices
from pearl.asking.write import UNREADABLE, WrittenText
from pearl.stats import Bootstrap, Floats
from pearl.theta import theta_json
from retriever.models.bertscore import BertScore

Json = dict[str, Any]

NONE, ALL, SELECTIVE, RANDOM = "none", "all", "selective", "random"
COMPARED_WITH: Mapping[str, tuple[str, ...]] = {
    NONE: (),
    ALL: (NONE,),
    SELECTIVE: (NONE, ALL, RANDOM),
    RANDOM: (NONE,),
}
CURVE_POINTS = 21


def revision_report(
    cases: Sequence[Case],
    system: System,
    drafts: Sequence[WrittenText],
    revisions: Sequence[WrittenText],
    bertscore: BertScore,
    *,
    stances: str | None,
) -> Json:
    """One retriever's policies, the curve over every theta, and slices. A threshold of None means never.

    Where a revision cannot be read the service keeps the draft, and so does this; requests whose draft or revision
    failed otherwise are left out of every policy and counted. Raises ChatError where no request is left.
    """
    answers = [
        replace(revision, text=draft.text) if revision.failure == UNREADABLE else revision
        for draft, revision in zip(drafts, revisions, strict=True)
    ]
    together = complete([drafts, answers])
    usable = list(compress(cases, together))
    yardstick = Yardstick.of(usable, bertscore, stances)
    unrevised, edited = (
        yardstick.measure([text.text or "" for text in compress(texts, together)]) for texts in (drafts, answers)
    )
    scores = np.array([shown.top.score if shown.top else np.inf for shown in compress(system.shown, together)])
    pair = RevisedDrafts(tuple(usable), yardstick.metrics, unrevised, edited, scores)
    revised = [revision for draft, revision in zip(drafts, revisions, strict=True) if draft.text is not None]
    return {
        "model": system.name,
        "requests": len(cases),
        "threshold": theta_json(system.threshold),
        "drafts": counts(drafts),
        "revisions": counts(revised),
        **pair.table(system.threshold),
        "curve": pair.curve(),
        "by_chance": pair.by_chance(),
        "slices": [
            part.to_json() | pair.among(part.among).table(system.threshold)
            for part in request_slices([case.record for case in usable])
        ],
    }


@dataclass(frozen=True, slots=True)
class RevisedDrafts:
    """The drafts and their revisions, measured, with the s1 of each request, (N,); infinite where nothing is ranked,
    which is never below a threshold."""

    cases: tuple[Case, ...]
    metrics: tuple[Metric[Measures], ...]
    drafts: Measures
    revised: Measures
    top_scores: Floats

    def among(self, mask: Mask) -> RevisedDrafts:
        return RevisedDrafts(
            tuple(compress(self.cases, mask)),
            self.metrics,
            self.drafts.among(mask),
            self.revised.among(mask),
            self.top_scores[mask],
        )

    def table(self, threshold: float | None) -> Json:
        """Every policy, with its paired differences from the others."""
        chosen = self._below(threshold)
        shares = {
            NONE: np.zeros(len(chosen)),
            ALL: np.ones(len(chosen)),
            SELECTIVE: chosen,
            # as many as the threshold picks, drawn blindly: says whether s1 knows which ones
            RANDOM: np.full(len(chosen), chosen.mean()),
        }
        bootstrap = self._bootstrap()
        by_policy = {policy: self._figures(bootstrap, share) for policy, share in shares.items()}
        return {
            **clusters([case.record for case in self.cases]).to_json(),
            "policies": [
                {
                    "policy": policy,
                    "share_revised": bootstrap.mean(shares[policy]).to_json(),
                    **_beside(mine, {other: by_policy[other] for other in COMPARED_WITH[policy]}),
                }
                for policy, mine in by_policy.items()
            ],
        }

    def curve(self) -> list[Json]:
        """The figures for every possible theta, at equal steps of the share that is revised."""
        bootstrap = self._bootstrap()
        none = {NONE: self._figures(bootstrap, np.zeros(len(self.cases)))}
        return [
            {
                "threshold": threshold if np.isfinite(threshold) else None,
                "share_revised": bootstrap.mean(self._below(threshold)).to_json(),
                **_beside(self._figures(bootstrap, self._below(threshold)), none),
            }
            for threshold in self._thresholds()
        ]

    def by_chance(self) -> dict[str, float]:
        """By metric, the share of random exchanges of drafts and revisions in which the best theta gains as much."""
        revised = [mixed(self._below(threshold), self.revised, self.drafts) for threshold in self._thresholds()]
        return chances(self.drafts, revised, clusters([case.record for case in self.cases]).names)

    def _thresholds(self) -> list[float]:
        known = self.top_scores[np.isfinite(self.top_scores)]
        thresholds = np.unique(np.quantile(known, np.linspace(0, 1, CURVE_POINTS))).tolist() if len(known) else []
        return [*thresholds, np.inf]

    def _below(self, threshold: float | None) -> Floats:
        """1 where the draft is revised."""
        return np.asarray(self.top_scores < (-np.inf if threshold is None else threshold), np.float64)

    def _bootstrap(self) -> Bootstrap:
        return Bootstrap(clusters([case.record for case in self.cases]).names)

    def _figures(self, bootstrap: Bootstrap, share: Floats) -> Figures:
        return figures(self.metrics, bootstrap, mixed(share, self.revised, self.drafts))


def _beside(mine: Figures, others: Mapping[str, Figures]) -> Json:
    """The figures of a policy, with its paired differences from others."""
    return {
        **to_json(mine),
        "differences": [to_json(less(mine, other), against=name) for name, other in others.items()],
    }
