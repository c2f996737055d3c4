"""F1 over three labels, not, somewhat and very: what two labels pass over, as "somewhat" for every "very", counts.

The paper maps scores to three labels by bounds set by hand, which judgements with three labels have, or by learned ones
(appendix H): here those two that have the highest F1 on the draws for other texts.

Dimensions in comments: B bounds, K labels, N draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from eval.recorded.style.breakdowns import breakdowns
from eval.recorded.style.choices import LEARNED, StyleOptions
from eval.recorded.style.counts import columns_with
from eval.recorded.style.f1 import MACRO, f1
from eval.recorded.style.judged import JudgedUnit
from eval.recorded.style.labels import DETECTION, THREE, majority
from eval.recorded.style.people import Subject
from pearl.stats.bootstrap import Floats

PARTS = 5  # of the texts: the bounds for one are learned on the others
MOST_BOUNDS = 30
Bounds: TypeAlias = tuple[float, float]  # the highest score of "not" and of "somewhat"
Golds: TypeAlias = Mapping[Subject, str | None]


def three_labels(units: Sequence[JudgedUnit], people: Golds, options: StyleOptions) -> Iterator[dict[str, Any]]:
    """Rows like those of two labels, of judgements that have three labels or, where bounds are learned, scores."""
    rated = [unit for unit in units if people.get(unit.subject) is not None]
    learned = options.bins == LEARNED
    known = sorted((unit for unit in rated if (unit.scores if learned else unit.levels)), key=_judge)
    votes: list[Mapping[str, int]] = [unit.levels for unit in known]
    if learned:
        votes = [counts for _, group in groupby(known, key=_judge) for counts in learned_votes(list(group), people)]
    if not known:
        return
    said = [majority(counts, options.even, THREE) for counts in votes]
    columns = columns_with(DETECTION, THREE, MACRO, known, said, people, options)
    yield from breakdowns(columns, ((), ("task",), ("judge",), ("judge", "task")))


def _judge(unit: JudgedUnit) -> tuple[str, str]:
    return unit.key.scheme, unit.key.judge


def learned_votes(units: Sequence[JudgedUnit], people: Golds) -> Iterator[Mapping[str, int]]:
    """The labels of one judge's draws by one scheme, by bounds learned on the texts of the other parts; none where
    there is no other text."""
    parts = [crc32(unit.key.item.encode()) % PARTS for unit in units]
    bounds: dict[int, Bounds] = {}
    for part in set(parts):
        if others := [unit for unit, of in zip(units, parts, strict=True) if of != part]:
            bounds[part] = best_bounds(others, people)
    for unit, part in zip(units, parts, strict=True):
        scores = unit.scores if part in bounds else ()
        yield Counter(THREE[int(np.searchsorted(bounds[part], score))] for score in scores)


def best_bounds(units: Sequence[JudgedUnit], people: Golds) -> Bounds:
    """The two bounds with the highest F1 of the draws; of equal ones the lowest."""
    scores = np.array([score for unit in units for score in unit.scores])  # (N,)
    golds = [THREE.index(people[unit.subject] or "") for unit in units for _ in unit.scores]
    bounds = np.unique(np.quantile(scores, np.linspace(0, 1, MOST_BOUNDS), method="nearest"))  # (B,)
    of_gold = np.eye(len(THREE))[golds]  # (N, K)
    below = (scores[:, None] <= bounds).astype(float).T @ of_gold  # (B, K)
    least, middle = np.triu_indices(len(bounds))
    labelled = np.stack((below[least], below[middle] - below[least], of_gold.sum(axis=0) - below[middle]), axis=-1)
    unlabelled = np.zeros((*labelled.shape[:-1], 1))
    confusions: Floats = np.concatenate((labelled, unlabelled), axis=-1).reshape(len(least), -1)
    best = int(np.argmax(np.nan_to_num(f1(confusions, MACRO), nan=-1.0)))
    return float(bounds[least[best]]), float(bounds[middle[best]])
