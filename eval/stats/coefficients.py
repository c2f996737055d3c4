"""Coefficients of agreement, computed by well-known libraries, with bootstrap intervals over items.

A coefficient that depends on how common labels are is undefined, with a reason, if everybody gave one label. Randolph's
kappa does not depend on that; it is then 1, if other labels were possible.

Dimensions in comments: I items, K labels, R resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.stats.ratings import NOT_RATED, Ratings
from pearl.stats.bootstrap import RESAMPLES, Bootstrap, Estimate, Floats, or_nan

MOST_ORDINAL = 50  # labels; the interval of the ordinal alpha takes their square in memory
BANDS = ((0.0, "slight"), (0.2, "fair"), (0.4, "moderate"), (0.6, "substantial"), (0.8, "almost perfect"))

AgreementT = TypeVar("AgreementT", float, Floats)
Fold = tuple[Floats, Callable[[Floats], Floats]]  # features, (I, F), and a statistic of their sums, (R, F) -> (R,)

ONE_RATER = "there is only one rater"
ONE_LABEL = "only one label was given, so chance alone would agree"
NOTHING_SHARED = "no item has two ratings"
NOT_NUMBERS = "the labels are not numbers"
TOO_MANY = f"there are more than {MOST_ORDINAL} labels; see the alpha for intervals"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """The estimate of a coefficient of agreement, or the reason why it is undefined."""

    estimate: Estimate | None
    items: int  # that the estimate is over
    reason: str = ""  # why there is no estimate

    @property
    def band(self) -> str | None:
        return None if self.estimate is None else landis_koch(self.estimate.value)

    def to_json(self) -> dict[str, float] | None:
        return None if self.estimate is None else self.estimate.to_json()


@dataclass(frozen=True, slots=True)
class RaterPair:
    """The agreement of two raters over the items that both have rated."""

    first: str
    second: str
    agreement: Coefficient
    kappa: Coefficient


def landis_koch(value: float) -> str:
    """The verbal band of a kappa, such as "substantial" (Landis and Koch 1977). A band includes its upper end."""
    return "poor" if value < 0 else next(name for above, name in reversed(BANDS) if value > above or above == 0)


class Agreement:
    """All coefficients of one set of ratings, on the same resamples of items, or of the items' ``clusters``, (I,)."""

    def __init__(
        self, ratings: Ratings, *, resamples: int = RESAMPLES, seed: int = 0, clusters: Sequence[str] | None = None
    ) -> None:
        self._ratings = ratings
        self._counts = ratings.counts.astype(float)  # (I, K)
        self._number = self._counts.sum(axis=1)  # (I,)
        self._shared = self._number > 1
        names = [str(i) for i in range(len(ratings.items))] if clusters is None else clusters
        self._bootstrap = Bootstrap(names, resamples=resamples, seed=seed)

    def _missing(self, *, one_label: bool = True) -> str:
        """The reason why no agreement can be computed; empty if it can."""
        if len(self._ratings.raters) < 2:
            return ONE_RATER
        if not self._shared.any():
            return NOTHING_SHARED
        return ONE_LABEL if one_label and (self._counts[self._shared].sum(axis=0) > 0).sum() < 2 else ""

    def raw(self) -> Coefficient:
        """Raw agreement: the share of equal pairs among an item's ratings, averaged over items with at least two."""
        if reason := self._missing(one_label=False):
            return Coefficient(None, 0, reason)
        return Coefficient(self._bootstrap.share(pair_agreement(self._counts), self._shared), int(self._shared.sum()))

    def randolph(self) -> Coefficient:
        """Randolph's kappa, for which all possible labels are equally likely by chance. Items may have different
        numbers of ratings. Undefined if only one label is possible."""
        size = len(self._ratings.labels)
        raw = self.raw()
        if raw.estimate is None or size < 2:
            return Coefficient(None, raw.items, raw.reason or ONE_LABEL)
        shares = raw.estimate
        value, resampled = randolph_kappa(shares.value, size), randolph_kappa(shares.resampled, size)
        return Coefficient(Estimate(value, resampled, shares.clusters, randolph_kappa(0.0, size)), raw.items)

    def fleiss(self) -> Coefficient:
        """Fleiss' kappa. It needs equal numbers of ratings, so only items with the most common number are used."""
        if reason := self._missing():
            return Coefficient(None, 0, reason)
        raters = max(Counter(self._number[self._shared]).items(), key=lambda pair: (pair[1], pair[0]))[0]
        inside = self._number == raters
        if (self._counts[inside].sum(axis=0) > 0).sum() < 2:
            return Coefficient(None, int(inside.sum()), ONE_LABEL)
        features = np.column_stack((np.ones_like(self._number), pair_agreement(self._counts), self._counts))

        def fold(sums: Floats) -> Floats:  # (R, 2 + K)
            same = sums[:, 1] / sums[:, 0]
            shares = sums[:, 2:] / (sums[:, :1] * raters)
            chance = (shares**2).sum(axis=1)
            return np.asarray((same - chance) / or_nan(1 - chance))

        from statsmodels.stats.inter_rater import fleiss_kappa

        value = float(fleiss_kappa(self._counts[inside]))
        return Coefficient(self._estimate(value, features * inside[:, None], fold), int(inside.sum()))

    def alpha(self, level: str) -> Coefficient:
        """Krippendorff's alpha; ``level`` is nominal, ordinal or interval. Ratings may be missing."""
        values = self._ratings.numbers
        if reason := self._missing():
            return Coefficient(None, 0, reason)
        if level != "nominal" and values is None:
            return Coefficient(None, 0, NOT_NUMBERS)
        if level == "ordinal" and len(self._ratings.labels) > MOST_ORDINAL:
            return Coefficient(None, 0, TOO_MANY)
        return Coefficient(alpha(self._counts, self._bootstrap, level, values), int(self._shared.sum()))

    def pairs(self) -> list[RaterPair]:
        rated = zip(self._ratings.raters, self._ratings.codes.T, strict=True)
        return [
            RaterPair(name, other, *self._pair(first, second))
            for (name, first), (other, second) in combinations(rated, 2)
        ]

    def _pair(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> tuple[Coefficient, Coefficient]:
        both = (first != NOT_RATED) & (second != NOT_RATED)
        items = int(both.sum())
        if not items:
            nothing = Coefficient(None, 0, "no item was rated by both")
            return nothing, nothing
        same = ((first == second) & both).astype(float)
        agreement = Coefficient(self._bootstrap.share(same, both), items)
        if len({*first[both], *second[both]}) < 2:
            return agreement, Coefficient(None, items, ONE_LABEL)
        size = len(self._ratings.labels)
        codes = np.arange(size)
        features = np.column_stack((np.ones(len(both)), same, first[:, None] == codes, second[:, None] == codes))

        def fold(sums: Floats) -> Floats:  # (R, 2 + 2K)
            n, agreed = sums[:, 0], sums[:, 1] / sums[:, 0]
            chance = (sums[:, 2 : 2 + size] * sums[:, 2 + size :]).sum(axis=1) / n**2
            return np.asarray((agreed - chance) / or_nan(1 - chance))

        from sklearn.metrics import cohen_kappa_score

        value = float(cohen_kappa_score(first[both], second[both]))
        return agreement, Coefficient(self._estimate(value, features * both[:, None], fold), items)

    def _estimate(self, value: float, features: Floats, fold: Callable[[Floats], Floats]) -> Estimate:
        """The library's value, with our value in each resample."""
        return Estimate(value, self._bootstrap.sums(features, fold).resampled)

    def cohen(self, pairs: list[RaterPair]) -> Coefficient:
        """The mean of Cohen's kappa over all pairs of raters for which it is defined."""
        if reason := self._missing():
            return Coefficient(None, 0, reason)
        kappas = [pair.kappa.estimate for pair in pairs if pair.kappa.estimate is not None]
        if not kappas:
            return Coefficient(None, 0, ONE_LABEL)
        resampled = np.stack([kappa.resampled for kappa in kappas])
        known = np.isfinite(resampled)
        total = np.where(known, resampled, 0.0).sum(axis=0)
        mean = Estimate(float(np.mean([kappa.value for kappa in kappas])), total / or_nan(known.sum(axis=0)))
        return Coefficient(mean, int(self._shared.sum()))


def pair_agreement(counts: Floats) -> Floats:
    """The share of equal pairs among each item's ratings: (I, K) -> (I,). 0 for an item with fewer than two ratings."""
    number = counts.sum(axis=1)
    return np.asarray((counts * (counts - 1)).sum(axis=1) / np.maximum(number * (number - 1), 1))


def randolph_kappa(agreement: AgreementT, labels: int) -> AgreementT:
    """Randolph's kappa from raw agreement, which is rescaled so that chance agreement, 1 / ``labels``, becomes 0."""
    return (agreement - 1 / labels) / (1 - 1 / labels)


def alpha(
    counts: Floats, bootstrap: Bootstrap, level: str = "nominal", values: Sequence[float] | None = None
) -> Estimate:
    """Krippendorff's alpha from the number of ratings by item and label, (I, K); ratings may be missing. ``level`` is
    nominal, ordinal or interval; ``values``: the labels as numbers, which the nominal alpha ignores."""
    domain = list(range(counts.shape[1])) if values is None or level == "nominal" else list(values)
    import krippendorff  # of an extra, which help does without

    value = float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))  # type: ignore[arg-type]
    number = counts.sum(axis=1, keepdims=True)
    paired = np.where(number > 1, counts, 0.0)  # an item rated once says nothing
    features, fold = FOLDS[level](paired, np.maximum(number - 1, 1), np.array(domain, float))
    return Estimate(value, bootstrap.sums(features, fold).resampled)


def _nominal(counts: Floats, other: Floats, domain: Floats) -> Fold:
    """Nominal alpha, from the number of equal pairs of labels in each item and from the label counts. ``other``, (I,
    1): the number of ratings that each rating of an item is paired with."""

    def fold(sums: Floats) -> Floats:  # (R, 1 + K)
        uses = sums[:, 1:]
        n = uses.sum(axis=1)
        observed = n - sums[:, 0]
        expected = (n**2 - (uses**2).sum(axis=1)) / (n - 1)
        return np.asarray(1 - observed / or_nan(expected))

    itself = (counts * (counts - 1)).sum(axis=1, keepdims=True) / other
    return np.hstack((itself, counts)), fold


def _interval(counts: Floats, other: Floats, domain: Floats) -> Fold:
    """Interval alpha, from the sums of the values and the sums of their squares."""

    def fold(sums: Floats) -> Floats:  # (R, 4)
        observed, n, first, second = sums.T
        expected = 2 * (n * second - first**2) / (n - 1)
        return np.asarray(1 - observed / or_nan(expected))

    values = domain - domain.mean()
    number, total, squares = counts.sum(axis=1), counts @ values, counts @ values**2
    within = 2 * (number * squares - total**2) / other[:, 0]
    return np.column_stack((within, number, total, squares)), fold


def _ordinal(counts: Floats, other: Floats, domain: Floats) -> Fold:
    """Ordinal alpha, from counts of pairs of labels; the distance of two labels depends on how common labels are."""
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
