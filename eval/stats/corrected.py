"""Estimates of the shares of labels over all items, from an imperfect judge's labels and people's labels of some items.

Two estimates are made beside the raw rates. The first inverts the judge's confusion (Rogan and Gladen 1978, here for
any number of labels). It assumes the same confusion on all items, but the labelled items need not be a random sample.
The second is prediction-powered (Angelopoulos et al. 2023, PPI++). It needs a random sample and assumes nothing about
the judge. ``docs/results/corrected.json`` has the simulated coverage of the intervals.

Dimensions in comments: N items, K labels, R resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pearl.stats.bootstrap import RESAMPLES, Floats
from pearl.stats.proportions import Interval

UNLABELLED = -1
PSEUDO = 0.8  # items, spread over all pairs of labels, beside the labelled ones: what these lack may still exist
SINGULAR = 1e-9  # a smaller determinant cannot be inverted


@dataclass(frozen=True, slots=True)
class LabelledShares:
    """Items with the judge's labels and, for some of the items, people's labels."""

    labels: Sequence[str]
    shares: Floats  # of an item's judgements, by label, (N, K)
    gold: NDArray[np.intp]  # index of the label that people gave, UNLABELLED where they gave none, (N,)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return np.asarray(self.gold != UNLABELLED)

    def joint(self) -> Floats:
        """The number of labelled items by people's label and the judge's label: (K, K)."""
        people = np.eye(len(self.labels))[self.gold[self.labelled]]
        return np.asarray(people.T @ self.shares[self.labelled])


def confusion(data: LabelledShares) -> Floats:
    """The distribution of the judge's labels for each label of people, (K, K); a row is NaN if people never gave the
    label."""
    joint = data.joint()
    number = joint.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(joint, number, out=np.full_like(joint, np.nan), where=number > 0))


def obstacle(data: LabelledShares) -> str | None:
    """The reason why the confusion cannot be inverted; None if it can. The judge must give each label more often to the
    items that people give it than to other items."""
    joint, rows = data.joint(), confusion(data)
    unknown = [label for label, number in zip(data.labels, joint.sum(axis=1), strict=True) if not number]
    if unknown:
        return f"no item is labelled {' or '.join(unknown)}, which the judge says; label some"
    if len(data.labels) == 2:
        first, second = rows.diagonal()
        if first + second <= 1:
            return (
                f"sensitivity {first:.2f} and specificity {second:.2f} add up to {first + second:.2f}; at 1 or less "
                "the judge says no more than chance, and no correction is possible"
            )
    for index, label in enumerate(data.labels):
        others = np.delete(joint, index, axis=0)
        elsewhere = others[:, index].sum() / others.sum()
        if rows[index, index] <= elsewhere:
            return (
                f"the judge says {label} for {rows[index, index]:.0%} of the items that people label so, and for "
                f"{elsewhere:.0%} of the others; no correction is possible"
            )
    return "the judge's confusion cannot be inverted" if abs(np.linalg.det(rows)) < SINGULAR else None


def raw_rates(data: LabelledShares) -> Floats:
    """Count how often the judge gives each label, over all items: (K,)."""
    return np.asarray(data.shares.mean(axis=0))


@dataclass(frozen=True, slots=True)
class Intervals:
    """Bootstrap percentile intervals; labelled and unlabelled items are resampled separately."""

    raw: tuple[Interval, ...]
    corrected: tuple[Interval, ...] | None
    agreement: tuple[Interval | None, ...]  # of the confusion's diagonal


def resampled(data: LabelledShares, *, resamples: int = RESAMPLES, seed: int = 0, pseudo: float = PSEUDO) -> Intervals:
    """Bootstrap intervals of the rates. Each resample has ``pseudo`` more labelled items, spread over all pairs of
    labels; without them a label that the judge always got right would have no uncertainty."""
    size, generator = len(data.labels), np.random.default_rng(seed)
    joint = _drawn_joint(data, pseudo / size**2, resamples, generator)  # (R, K, K)
    judged = joint.sum(axis=1) + _drawn(data.shares[~data.labelled], resamples, generator)
    rates = judged / judged.sum(axis=1, keepdims=True)
    people = joint.sum(axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = joint / people  # (R, K, K); NaN without pseudo items where a label was not drawn
    exact = confusion(data)
    diagonal = [_interval(exact[i, i], rows[:, i, i]) if np.isfinite(exact[i, i]) else None for i in range(size)]
    raw = tuple(_interval(value, rates[:, i]) for i, value in enumerate(raw_rates(data)))
    if obstacle(data):
        return Intervals(raw, None, tuple(diagonal))
    usable = np.abs(np.linalg.det(np.nan_to_num(rows))) > SINGULAR
    redrawn = _inverted(rows[usable], rates[usable])
    (value,) = _inverted(exact[None], raw_rates(data)[None])
    corrected = tuple(_interval(rate, redrawn[:, i]) for i, rate in enumerate(value))
    return Intervals(raw, corrected, tuple(diagonal))


def _inverted(rows: Floats, rates: Floats) -> Floats:
    """The rates of people's labels, (R, K), that give the judge's ``rates``, (R, K), by the confusion ``rows``."""
    return np.asarray(np.clip(np.linalg.solve(rows.transpose(0, 2, 1), rates[:, :, None])[:, :, 0], 0, 1))


def _drawn_joint(data: LabelledShares, pseudo: float, resamples: int, generator: np.random.Generator) -> Floats:
    size = len(data.labels)
    people = np.eye(size)[data.gold[data.labelled]]
    cells = (people[:, :, None] * data.shares[data.labelled][:, None, :]).reshape(-1, size * size)  # (N, K * K)
    if pseudo:
        cells = np.vstack((cells, np.eye(size * size)))
    weights = np.r_[np.ones(len(people)), np.full(len(cells) - len(people), pseudo)]
    drawn = _drawn(cells, resamples, generator, weights, len(people)) + pseudo
    return np.asarray(drawn.reshape(resamples, size, size))


def _drawn(
    rows: Floats,
    resamples: int,
    generator: np.random.Generator,
    weights: Floats | None = None,
    number: int | None = None,
) -> Floats:
    """The sums of the rows in each resample. Equal rows are drawn together, which is faster."""
    if not len(rows):
        return np.zeros((resamples, rows.shape[1]))
    different, which = np.unique(rows, axis=0, return_inverse=True)
    times = np.bincount(which.ravel(), weights=weights, minlength=len(different))
    return np.asarray(generator.multinomial(number or len(rows), times / times.sum(), size=resamples) @ different)


def _interval(value: float, drawn: Floats) -> Interval:
    low, high = np.nanpercentile(drawn, (2.5, 97.5))
    return Interval(float(value), min(float(low), float(value)), max(float(high), float(value)))


def prediction_powered(data: LabelledShares) -> tuple[Interval, ...]:
    """The rate of each label of people by PPI++: the mean of the labelled items, adjusted by the judge's labels of the
    unlabelled items with a weight (lambda, between 0 and 1) that grows with the judge's accuracy on labelled items.

    Intervals are Student's. As Agresti and Coull do, two items are added first, one with the label and one without, on
    which people and judge agree: otherwise intervals of rare labels cover the rate too seldom.
    """
    from scipy.stats import t as student

    number = int(data.labelled.sum())
    rates = []
    for index in range(len(data.labels)):
        people = (data.gold[data.labelled] == index).astype(float)
        judge, others = data.shares[data.labelled, index], data.shares[~data.labelled, index]
        value, _ = _powered(people, judge, others)
        middle, error = _powered(np.r_[people, 1.0, 0.0], np.r_[judge, 1.0, 0.0], others)
        reach = float(student.ppf(0.975, number + 1)) * error
        low, high = max(middle - reach, 0.0), min(middle + reach, 1.0)
        value = float(np.clip(value, 0, 1))
        rates.append(Interval(value, min(low, value), max(high, value)))
    return tuple(rates)


def _powered(people: Floats, judge: Floats, others: Floats) -> tuple[float, float]:
    n, m = len(people), len(others)
    spread = float(np.var(np.r_[judge, others], ddof=1))
    weight = 0.0
    if m and spread > 0:
        weight = float(np.clip(np.cov(people, judge)[0, 1] / ((1 + n / m) * spread), 0, 1))
    rest = people - weight * judge
    from_others = weight**2 * float(np.var(others, ddof=1)) / m if m > 1 else 0.0
    value = float(rest.mean()) + (weight * float(others.mean()) if m else 0.0)
    return value, float(np.sqrt(from_others + np.var(rest, ddof=1) / n))
