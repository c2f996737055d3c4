"""AUC and equal error rate of scores of true and false claims, with intervals by bootstrap.

Dimensions in comments: N claims, V different scores, R resamples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pearl.stats import Bootstrap, Estimate, Floats


def auc(bootstrap: Bootstrap, scores: Floats, true: NDArray[np.bool_]) -> Estimate:
    """The chance that a true claim scores above a false one, equal scores counting a half."""

    def fold(weights: Floats) -> Floats:
        right, wrong = _by_score(weights, scores, true)
        below = wrong.cumsum(axis=1) - wrong / 2
        return np.asarray((right * below).sum(axis=1) / (right.sum(axis=1) * wrong.sum(axis=1)))

    return bootstrap.weights(fold)


def equal_error_rate(bootstrap: Bootstrap, scores: Floats, true: NDArray[np.bool_]) -> Estimate:
    """The share of true claims refused where as large a share of false ones is believed."""

    def fold(weights: Floats) -> Floats:
        right, wrong = _by_score(weights, scores, true)
        refused = right.cumsum(axis=1) / right.sum(axis=1, keepdims=True)
        believed = 1 - wrong.cumsum(axis=1) / wrong.sum(axis=1, keepdims=True)
        place = np.abs(refused - believed).argmin(axis=1)[:, None]
        both = np.take_along_axis(refused, place, 1) + np.take_along_axis(believed, place, 1)
        return np.asarray(both[:, 0] / 2)

    return bootstrap.weights(fold)


def _by_score(weights: Floats, scores: Floats, true: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The weights of the true claims and of the false ones at each score, the lowest first, (R, V)."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    ordered = weights[:, order]
    right = np.add.reduceat(ordered * true[order], starts, axis=1)
    return right, np.add.reduceat(ordered, starts, axis=1) - right
