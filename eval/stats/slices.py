"""Slices of requests by a value, such as the request's length, and bins of values.

Dimensions in comments: N requests, B bins, R resamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pearl.stats.bootstrap import Bootstrap, Estimate, Floats

Mask = NDArray[np.bool_]  # (N,)
Bins = NDArray[np.intp]  # (N,)


@dataclass(frozen=True, slots=True)
class Slice:
    """The requests whose value lies in a range."""

    by: str  # name of the value
    low: int
    high: int  # included
    among: Mask

    def to_json(self) -> dict[str, Any]:
        return {"by": self.by, "low": self.low, "high": self.high}


def equal_bins(values: ArrayLike, count: int) -> Bins:
    """Divide values into ``count`` bins of about equal size, and return each value's bin, (N,), 0 for the lowest. Equal
    values are in the same bin."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - sizes / 2  # ranks from 0, as places between 0 and N
    return np.asarray((middle[group] * count / sizes.sum()).astype(np.intp))


def binned_distance(bootstrap: Bootstrap, inside: Floats, predicted: Floats, true: Floats) -> Estimate:
    """The distance between the mean prediction and the mean true value of a bin, averaged over bins by their size. Both
    are (N,); ``inside`` is 1 in the bin of each value, else 0: (N, B)."""

    def fold(sums: Floats) -> Floats:  # (R, 3B)
        number, predictions, truths = np.split(sums, 3, axis=1)
        return np.asarray(np.abs(predictions - truths).sum(axis=1) / number.sum(axis=1))

    return bootstrap.sums(np.hstack((inside, inside * predicted[:, None], inside * true[:, None])), fold)


def slices(by: str, values: Sequence[int]) -> list[Slice]:
    """Divide requests by their ``values`` into three slices of about equal size, or two if many values are equal. Empty
    if there would be only one slice."""
    sizes = np.asarray(values)
    bins = equal_bins(values, 3)
    masks = [bins == index for index in np.unique(bins)]
    if len(masks) < 2:
        return []
    return [Slice(by, int(sizes[among].min()), int(sizes[among].max()), among) for among in masks]
