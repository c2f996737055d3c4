"""Krippendorff's alpha from a well-kept library, with what it is in each resample of the items.

Dimensions in comments: I items, K labels, R resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pearl.stats import Bootstrap, Estimate, Floats, or_nan

Fold = tuple[Floats, Callable[[Floats], Floats]]


def alpha(
    counts: Floats, bootstrap: Bootstrap, level: str = "nominal", values: Sequence[float] | None = None
) -> Estimate:
    """Nominal, ordinal or interval, of how often each item has each label: (I, K); missing ratings are no matter.

    ``values`` are the labels as numbers, of which a nominal one takes no notice.
    """
    domain = list(range(counts.shape[1])) if values is None or level == "nominal" else list(values)
    import krippendorff  # of an extra, which help does without

    value = float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))  # type: ignore[arg-type]
    number = counts.sum(axis=1, keepdims=True)
    paired = np.where(number > 1, counts, 0.0)  # an item rated once says nothing
    features, fold = FOLDS[level](paired, np.maximum(number - 1, 1), np.array(domain, float))
    return Estimate(value, bootstrap.sums(features, fold).resampled)


def _nominal(counts: Floats, other: Floats, domain: Floats) -> Fold:
    """Nominal alpha, from how often a label meets itself within an item, and the labels. ``other``: the number of other
    ratings that each rating of an item meets, (I, 1)."""

    def fold(sums: Floats) -> Floats:  # (R, 1 + K)
        uses = sums[:, 1:]
        n = uses.sum(axis=1)
        observed = n - sums[:, 0]
        expected = (n**2 - (uses**2).sum(axis=1)) / (n - 1)
        return np.asarray(1 - observed / or_nan(expected))

    itself = (counts * (counts - 1)).sum(axis=1, keepdims=True) / other
    return np.hstack((itself, counts)), fold


def _interval(counts: Floats, other: Floats, domain: Floats) -> Fold:
    """Interval alpha, from the sums of the values and of their squares."""

    def fold(sums: Floats) -> Floats:  # (R, 4)
        observed, n, first, second = sums.T
        expected = 2 * (n * second - first**2) / (n - 1)
        return np.asarray(1 - observed / or_nan(expected))

    values = domain - domain.mean()
    number, total, squares = counts.sum(axis=1), counts @ values, counts @ values**2
    within = 2 * (number * squares - total**2) / other[:, 0]
    return np.column_stack((within, number, total, squares)), fold


def _ordinal(counts: Floats, other: Floats, domain: Floats) -> Fold:
    """Ordinal alpha, from the matrix of which label meets which: distances depend on how common the labels are."""
    size = counts.shape[1]

    def fold(sums: Floats) -> Floats:  # (R, K * K)
        matrix = sums.reshape(-1, size, size)
        uses = matrix.sum(axis=2)
        reached = uses.cumsum(axis=1) - uses / 2
        distance = (reached[:, :, None] - reached[:, None, :]) ** 2
        observed = (matrix * distance).sum(axis=(1, 2))
        expected = (uses[:, :, None] * uses[:, None, :] * distance).sum(axis=(1, 2)) / (uses.sum(axis=1) - 1)
        return np.asarray(1 - observed / or_nan(expected))

    meets = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(size)  # (I, K, K)
    return (meets / other[:, :, None]).reshape(len(counts), -1), fold


FOLDS: dict[str, Callable[[Floats, Floats, Floats], Fold]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
