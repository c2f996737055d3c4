"""Measures of trust in a judge's stated certainty: AUROC, Brier score, calibration error, risk and coverage.

Dimensions in comments: N records, L levels of certainty, B bins, R resamples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eval.stats.proportions import share, wilson_json
from eval.stats.slices import binned_distance
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats, pearson_of_sums

BINS = 10
SWEEP = tuple(range(5, 101, 5))
# the verbal bands of the prompt, appendix A.7 of papers/personalized-judge.txt
BANDS = ((1, 20), (21, 40), (41, 60), (61, 80), (81, 100))


@dataclass(frozen=True, slots=True)
class CertainAnswers:
    """The correctness of each answer, and the certainty that the judge stated with it."""

    correct: Floats  # 1 or 0, (N,)
    certainty: Floats  # 1 to 100, NaN without one, (N,)
    bootstrap: Bootstrap

    @property
    def said(self) -> Floats:
        """1 for each record with a certainty, 0 for the others: (N,)."""
        return np.isfinite(self.certainty).astype(float)

    def part(self, inside: Floats) -> dict[str, Any]:
        """The numbers of correct and of all records where ``inside``, (N,), is 1, and their accuracy."""
        correct, total = int((self.correct * inside).sum()), int(inside.sum())
        return {"correct": correct, "total": total, "accuracy": share(correct, total)}

    def at_least(self, threshold: float) -> Floats:
        """1 for each record with a certainty of at least ``threshold``, else 0; also 0 without a certainty."""
        return (np.nan_to_num(self.certainty, nan=-np.inf) >= threshold).astype(float)


def auroc(judged: CertainAnswers) -> Estimate:
    """AUROC: the probability that a right answer has a higher certainty than a wrong answer; ties count a half. NaN if
    all answers are right or all are wrong."""
    said = judged.said > 0
    correct, certainty = judged.correct[said], judged.certainty[said]
    if len(set(correct)) < 2:
        return _undefined()
    levels = (judged.certainty[:, None] == np.unique(certainty)).astype(float)  # (N, L)
    features = np.hstack((levels * judged.correct[:, None], levels * (1 - judged.correct[:, None])))

    def fold(sums: Floats) -> Floats:  # (R, 2L)
        right, wrong = np.split(sums, 2, axis=1)
        below = wrong.cumsum(axis=1) - wrong / 2
        return np.asarray((right * below).sum(axis=1) / (right.sum(axis=1) * wrong.sum(axis=1)))

    return judged.bootstrap.sums(features, fold)


def brier(judged: CertainAnswers) -> Estimate:
    """Brier score: the mean squared difference between the certainty, as a probability, and 1 (right) or 0 (wrong)."""
    said = judged.said > 0
    if not said.any():
        return _undefined()
    squared = np.where(said, (np.nan_to_num(judged.certainty) / 100 - judged.correct) ** 2, 0.0)
    return judged.bootstrap.ratio(squared, judged.said)


def calibration_error(judged: CertainAnswers) -> Estimate:
    """ECE: the mean distance between certainty and accuracy in ten bins of equal width, weighted by the bins' sizes."""
    if not judged.said.any():
        return _undefined()
    said = np.nan_to_num(judged.certainty) / 100
    return binned_distance(judged.bootstrap, bins_of(judged.certainty), said, judged.correct)


def correlation(judged: CertainAnswers) -> Estimate:
    """Pearson's r between the certainty and whether the answer is right."""
    said = judged.said
    x = np.nan_to_num(judged.certainty) - (np.nanmean(judged.certainty) if said.any() else 0.0)
    y = judged.correct - judged.correct.mean()
    parts = np.column_stack((np.ones_like(x), x, y, x * x, y * y, x * y)) * said[:, None]
    return judged.bootstrap.sums(parts, pearson_of_sums)


def risk_area(judged: CertainAnswers) -> Estimate:
    """AURC, the area under the risk-coverage curve: the error rate of the most certain records over all coverages."""
    if not judged.said.any():
        return _undefined()
    known = np.unique(judged.certainty[judged.said > 0])[::-1]
    levels = (judged.certainty[:, None] == known).astype(float)  # (N, L)
    features = np.hstack((levels, levels * (1 - judged.correct[:, None])))

    def fold(sums: Floats) -> Floats:  # (R, 2L)
        number, wrong = np.split(sums, 2, axis=1)
        reached = number.cumsum(axis=1)
        risk = np.where(reached > 0, wrong.cumsum(axis=1) / np.maximum(reached, 1), 0.0)
        return np.asarray((number * risk).sum(axis=1) / number.sum(axis=1))

    return judged.bootstrap.sums(features, fold)


def _undefined() -> Estimate:
    return Estimate(float("nan"), np.array([]))


FIGURES: dict[str, Callable[[CertainAnswers], Estimate]] = {
    "auroc": auroc,
    "brier": brier,
    "ece": calibration_error,
    "aurc": risk_area,
    "certainty_correlation": correlation,
}


def bins_of(certainty: Floats) -> Floats:
    """1 in the bin of each certainty, else 0: (N, B). The bins are 1 to 10, 11 to 20, ..., 91 to 100."""
    index = np.ceil(np.nan_to_num(certainty, nan=-1.0) / (100 / BINS)) - 1
    return np.asarray(index[:, None] == np.arange(BINS), float)


def reliability(judged: CertainAnswers) -> list[dict[str, Any]]:
    """The counts, accuracy and mean certainty of each bin with records, in ascending order of certainty."""
    bins = enumerate(bins_of(judged.certainty).T)
    return [_range(judged, inside, 1 + 10 * index, 10 + 10 * index) for index, inside in bins if inside.any()]


def bands(judged: CertainAnswers) -> list[dict[str, Any]]:
    """The counts, accuracy and mean certainty in each of the verbal bands of certainty that the prompt names."""
    return [_range(judged, judged.at_least(low) - judged.at_least(high + 1), low, high) for low, high in BANDS]


def _range(judged: CertainAnswers, inside: Floats, low: int, high: int) -> dict[str, Any]:
    part = judged.part(inside)
    mean = float(judged.certainty[inside > 0].mean()) if inside.any() else None
    return {"low": low, "high": high, **part, "certainty": mean, "interval": _wilson(part)}


def sweep(judged: CertainAnswers, threshold: float) -> list[dict[str, Any]]:
    """Coverage and accuracy if the judge abstains below a threshold: for ``threshold`` and several others."""
    rows = []
    for least in sorted({*map(float, SWEEP), threshold}):
        part = judged.part(judged.at_least(least))
        abstained = len(judged.correct) - part["total"]
        coverage = share(part["total"], len(judged.correct))
        rows.append(
            {"threshold": least, **part, "abstained": abstained, "coverage": coverage, "interval": _wilson(part)}
        )
    return rows


def risk_coverage(judged: CertainAnswers) -> list[dict[str, Any]]:
    """For each level of certainty, descending: the share of records with at least this certainty, and its error
    rate."""
    levels = np.unique(judged.certainty[judged.said > 0])[::-1].tolist()
    parts = {level: judged.part(judged.at_least(level)) for level in levels}  # each holds a record of its level
    return [
        {"certainty": level, "coverage": part["total"] / len(judged.correct), "risk": 1 - part["accuracy"]}
        for level, part in parts.items()
    ]


def histogram(judged: CertainAnswers, ends: tuple[int, int]) -> list[dict[str, Any]]:
    """The counts and accuracy in bins of certainty, five wide. Certainties outside ``ends`` are moved to its ends."""
    first, last = ends
    clamped = np.clip(judged.certainty, first, last)
    return [
        {"low": low, "high": low + 4, **judged.part(((clamped >= low) & (clamped < low + 5)).astype(float))}
        for low in range(5 * (first // 5), last + 1, 5)
    ]


def _wilson(part: dict[str, Any]) -> dict[str, float] | None:
    return wilson_json(part["correct"], part["total"])
