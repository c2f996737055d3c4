"""Trait against trait: how far two of them choose the same response, and how often both choose at all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from eval.recorded.forensics.measures import Resampling, five_counts, intervals
from eval.recorded.forensics.pairs import TRAIT
from eval.recorded.forensics.votes import VoteTable, chooses
from eval.stats.proportions import wilson_json


def trait_pairs(table: VoteTable, resampling: Resampling, places: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Cohen's kappa of every two traits (those at ``places``, if given) over the pairs on which both choose, and the
    overlap: those pairs as a share of the pairs on which at least one does."""
    if places is None:
        places = [place for place, annotator in enumerate(table.annotators) if annotator.kind == TRAIT]
    choosing = chooses(table.codes)
    pairs = list(combinations(places, 2))
    if not pairs:
        return []
    counts = np.concatenate([five_counts(table.codes[:, [first]], table.codes[:, second]) for first, second in pairs])
    # where the second never chooses, there is nothing to draw from
    kappas = intervals(np.where(counts.sum(axis=-1, keepdims=True) == 0, [0, 0, 0, 0, 1.0], counts), resampling)[
        "kappa"
    ]
    names = table.titles()
    rows = []
    for (first, second), kappa in zip(pairs, kappas, strict=True):
        both = int((choosing[:, first] & choosing[:, second]).sum())
        either = int((choosing[:, first] | choosing[:, second]).sum())
        rows.append(
            {
                "trait": names[first],
                "against": names[second],
                "trait_id": table.annotators[first].id,
                "against_id": table.annotators[second].id,
                "both": both,
                "either": either,
                "kappa": None if kappa is None or both == 0 else kappa.to_json(),
                "overlap": wilson_json(both, either),
            }
        )
    return rows
