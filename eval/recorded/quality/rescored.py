"""Other scores of the texts that experts ranked, beside the recorded ones: a reward model's, and trivial ones.

Scores of different kinds have different scales, so gaps are divided into quarters of each scorer's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eval.recorded.quality.experts import VERSIONS, RankedTriplet
from eval.recorded.quality.gap_calibration import (
    ExpertOptions,
    agreement_by_gap,
    individual_words,
    majority_words,
    of_raters,
)
from eval.recorded.quality.scorers import ParagraphScorer
from pearl.errors import InputError
from pearl.stats import Bootstrap

RECORDED = "recorded"
RIVALS = ("shorter", "longer", "compression", "type_token")  # perplexity would load a language model
QUARTERS = (0.25, 0.5, 0.75)


def rescored_report(
    triplets: Sequence[RankedTriplet], scorers: Sequence[ParagraphScorer], options: ExpertOptions
) -> list[dict[str, Any]]:
    """Agreement of the recorded scores and of each scorer's with the experts, and what each has more than the recorded
    ones over the pairs that both decide. Raises InputError for triplets without texts."""
    without = next((triplet.id for triplet in triplets if len(triplet.texts) < len(VERSIONS)), None)
    if without is not None:
        raise InputError(f"'{without}' has no texts to score: each version needs a candidate.", code="missing_field")
    texts = [triplet.texts[version] for triplet in triplets for version in VERSIONS]
    recorded = np.array([triplet.scores[version] for triplet in triplets for version in VERSIONS])
    names = [triplet.id for triplet in triplets for _ in VERSIONS]
    bootstrap = Bootstrap(names, resamples=options.resamples, seed=options.seed)
    rows = []
    for name, scores in ((RECORDED, recorded), *((scorer.name, scorer.scores(texts)) for scorer in scorers)):
        by_triplet = np.asarray(scores, float).reshape(-1, len(VERSIONS)).tolist()
        scored = [
            replace(triplet, scores=dict(zip(VERSIONS, own, strict=True)))
            for triplet, own in zip(triplets, by_triplet, strict=True)
        ]
        rows.append(
            {
                "scorer": name,
                **_agreements(scored, options),
                "spearman": bootstrap.spearman(scores, recorded).to_json() if name != RECORDED else None,
                "more_than_recorded": _ahead(scored, triplets, options) if name != RECORDED else None,
            }
        )
    return rows


def _agreements(triplets: Sequence[RankedTriplet], options: ExpertOptions) -> dict[str, Any]:
    """Agreement with individual experts and with majorities, over all pairs and by quarters of the gaps."""
    individual = [word for triplet in triplets for word in individual_words(triplet)]
    counted = of_raters(triplets, options.raters)
    majority = [word for triplet in counted for word in majority_words(triplet, options.majority) if word is not None]
    gaps = [word.gap for word in individual]
    quarters = np.unique(np.quantile(gaps, QUARTERS).round(3)) if gaps else np.array([])
    edges = (0.0, *quarters[quarters > 0].tolist(), np.inf)
    return {
        kind: agreement_by_gap(words, options, edges, wide=None)
        for kind, words in (("individual", individual), ("majority", majority))
    }


def _ahead(
    scored: Sequence[RankedTriplet], recorded: Sequence[RankedTriplet], options: ExpertOptions
) -> dict[str, float] | None:
    """The paired difference in agreement with individual experts; None without a pair that both scores decide."""
    ours, theirs = (
        {
            (word.triplet, word.versions, word.expert): word.agrees
            for triplet in some
            for word in individual_words(triplet)
        }
        for some in (scored, recorded)
    )
    shared = [word for word in ours if word in theirs]
    if not shared:
        return None
    bootstrap = Bootstrap([triplet for triplet, *_ in shared], resamples=options.resamples, seed=options.seed)
    return bootstrap.mean([float(ours[word]) - float(theirs[word]) for word in shared]).to_json()
