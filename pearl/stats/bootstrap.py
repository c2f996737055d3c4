"""95% intervals by the percentile bootstrap over clusters (Efron and Tibshirani 1993, chapters 8 and 13).

Requests of one user resemble each other, so users are drawn, not requests. All statistics of one Bootstrap are computed
on the same resamples: ``a - b`` of two estimates is their paired difference.

Dimensions in comments: N records, U clusters, R resamples, F features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pearl.stats.proportions import Interval, wilson

Floats = NDArray[np.float64]

RESAMPLES = 2000
ROWS = 250  # resamples at a time: what is N wide must fit into memory


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its values on the resamples; NaN where it is undefined."""

    value: float  # of the records
    resampled: Floats  # of each resample of them, (R,)
    clusters: int | None = None  # of a share: the number of clusters that it is counted in
    none: float = 0.0  # value of a share of 0 on another scale with the same maximum 1, such as a kappa's

    @property
    def interval(self) -> Interval | None:
        """Return the 95% interval; None if the statistic is undefined. Undefined resamples are left out. The interval
        always contains the value."""
        if not np.isfinite(self.value):
            return None
        defined = self.resampled[np.isfinite(self.resampled)]
        low, high = np.percentile(defined, (2.5, 97.5)) if len(defined) else (self.value, self.value)
        if self.clusters and low == high:  # as where all are right, which does not make it certain
            width = 1 - self.none
            share = wilson((self.value - self.none) / width * self.clusters, self.clusters)
            return share and Interval(self.value, self.none + width * share.low, self.none + width * share.high)
        return Interval(self.value, min(float(low), self.value), max(float(high), self.value))

    def to_json(self) -> dict[str, float] | None:
        interval = self.interval
        return None if interval is None else interval.to_json()

    def __sub__(self, other: Estimate) -> Estimate:
        """The paired difference, for estimates of one Bootstrap."""
        return Estimate(self.value - other.value, self.resampled - other.resampled)


def drawn(clusters: Sequence[str], *records: Sequence[str]) -> tuple[str, ...]:
    """Return the cluster names to resample by, one per record. They are ``clusters``; if that names only one cluster,
    they are the first of ``records`` (groupings from coarse to fine) with several names. By default each record is then
    its own cluster."""
    finer = records or ([str(index) for index in range(len(clusters))],)
    return tuple(next((names for names in (clusters, *finer) if len(set(names)) > 1), clusters))


class Bootstrap:
    """Resamples of clusters, drawn once and used for every statistic. ``names``: the cluster of each record, (N,)."""

    def __init__(self, names: Sequence[str], *, resamples: int = RESAMPLES, seed: int = 0) -> None:
        _, self._cluster = np.unique(np.asarray(names, dtype=str), return_inverse=True)  # (N,)
        self._size = int(self._cluster.max()) + 1
        even = np.full(self._size, 1 / self._size)
        draws = np.random.default_rng(seed).multinomial(self._size, even, size=resamples)
        self._times = draws.astype(np.uint16 if self._size < 2**16 else np.uint32)  # (R, U) how often each was drawn

    def totals(self, features: ArrayLike) -> tuple[Floats, Floats]:
        """Return the sums of ``features``, (N, F), over the records and over each resample: (F,), (R, F)."""
        table = np.asarray(features, np.float64)
        by_cluster = np.zeros((self._size, table.shape[1]))  # (U, F)
        np.add.at(by_cluster, self._cluster, table)
        resampled = [times.astype(np.float64) @ by_cluster for times in self._parts()]
        return table.sum(axis=0), np.concatenate(resampled)

    def sums(self, features: ArrayLike, function: Callable[[Floats], Floats]) -> Estimate:
        """Estimate a statistic that depends on sums: ``function``, (R, F) -> (R,), of sums of ``features``, (N, F)."""
        all_of_them, resampled = self.totals(features)
        with np.errstate(divide="ignore", invalid="ignore"):
            return Estimate(float(function(all_of_them[None])[0]), function(resampled))

    def weights(self, function: Callable[[Floats], Floats]) -> Estimate:
        """Estimate any statistic: ``function`` takes the count of each record per resample, (R, N) -> (R,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(function(np.ones((1, len(self._cluster))))[0])
            resampled = [function(times[:, self._cluster].astype(np.float64)) for times in self._parts()]
        return Estimate(value, np.concatenate(resampled))

    def _parts(self) -> Iterator[NDArray[Any]]:
        for start in range(0, len(self._times), ROWS):
            yield self._times[start : start + ROWS]

    def mean(self, values: ArrayLike) -> Estimate:
        """Estimate the mean of values, (N,)."""
        return self.ratio(values, np.ones(len(self._cluster)))

    def share(self, counted: ArrayLike, among: ArrayLike | None = None) -> Estimate:
        """Estimate the share of records that are ``counted``, (N,) of 0 and 1. ``among``: the records to look at, (N,)
        of 0 and 1; the share is NaN if there are none. If all resamples have the same share, the interval is Wilson's
        over the clusters, since the bootstrap's would have no width."""
        inside = np.ones(len(self._cluster)) if among is None else np.asarray(among, np.float64)
        found = self.ratio(np.asarray(counted, np.float64) * inside, inside)
        return replace(found, clusters=self.clusters(inside))

    def clusters(self, inside: ArrayLike) -> int:
        """Count the clusters with a record that is ``inside``, (N,) of 0 and 1."""
        return len(np.unique(self._cluster[np.asarray(inside, bool)]))

    def ratio(self, values: ArrayLike, weights: ArrayLike) -> Estimate:
        """Estimate the sum of ``values`` divided by the sum of ``weights``, (N,) each; NaN if the divisor is 0 or
        less."""
        return self.sums(
            np.column_stack((values, weights)),
            lambda sums: sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], np.nan),
        )

    def median(self, values: ArrayLike) -> Estimate:
        """Estimate the median of values, (N,); for an even number of values, the mean of the two in the middle."""
        ordered = np.argsort(values, kind="stable")
        sorted_values = np.asarray(values, np.float64)[ordered]

        def middle(weights: Floats) -> Floats:  # whole numbers, so that places can be counted
            reached = weights[:, ordered].cumsum(axis=1)
            total = reached[:, -1:]
            below = (reached <= np.floor((total - 1) / 2)).sum(axis=1)
            above = (reached <= np.floor(total / 2)).sum(axis=1)
            return np.asarray((sorted_values[below] + sorted_values[above]) / 2)

        return self.weights(middle)

    def pearson(self, first: ArrayLike, second: ArrayLike) -> Estimate:
        """Estimate Pearson's r of two variables, (N,) each; NaN where either is constant."""
        # r does not change when a constant is taken off, and the sums of squares then keep their digits
        x, y = _centred(first), _centred(second)
        return self.sums(np.column_stack((np.ones(len(x)), x, y, x * x, y * y, x * y)), pearson_of_sums)

    def spearman(self, first: ArrayLike, second: ArrayLike) -> Estimate:
        """Estimate Spearman's rho, Pearson's r of ranks within each resample, of two variables, (N,) each."""
        groups = [np.unique(np.asarray(values), return_inverse=True)[1] for values in (first, second)]

        def correlation(weights: Floats) -> Floats:
            x, y = (_weighted_ranks(group, weights) for group in groups)
            parts = (np.ones_like(x), x, y, x * x, y * y, x * y)
            return pearson_of_sums(np.stack([(weights * part).sum(axis=1) for part in parts], axis=1))

        return self.weights(correlation)


def pearson_of_sums(sums: Floats) -> Floats:
    """Compute Pearson's r from the sums of 1, x, y, xx, yy and xy: (R, 6) -> (R,)."""
    n, x, y, xx, yy, xy = sums.T
    spread_x, spread_y = xx - x * x / n, yy - y * y / n
    # what is left of a constant after rounding is no spread
    constant = (spread_x <= 1e-12 * xx) | (spread_y <= 1e-12 * yy)
    return np.asarray(np.where(constant, np.nan, (xy - x * y / n) / np.sqrt(spread_x * spread_y)))


def or_nan(divisor: Floats | float) -> Floats | float:
    """Replace a divisor that is 0, up to rounding, by NaN."""
    return np.where(np.abs(divisor) < 1e-12, np.nan, divisor)


def _centred(values: ArrayLike) -> Floats:
    numbers = np.asarray(values, np.float64)
    return np.asarray(numbers - numbers.mean())


def _weighted_ranks(group: NDArray[np.intp], weights: Floats) -> Floats:
    """The rank of each record when record i occurs ``weights[:, i]`` times; equal records share the mean rank."""
    size = int(group.max()) + 1
    together = np.zeros((len(weights), size))
    for row, resample in zip(together, weights, strict=True):
        row += np.bincount(group, weights=resample, minlength=size)
    middle = together.cumsum(axis=1) - (together - 1) / 2
    return np.asarray(middle[:, group] - middle.mean(axis=1, keepdims=True))
