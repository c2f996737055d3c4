"""What a fit is chosen by on dev: the gain of the best-scored document, and how well its score says it.

Dimensions in comments: C candidates of a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from retriever.head import Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """``top1_gain`` in nats, the ``share`` of the best possible, Pearson ``r`` of s1 with the gain of the chosen."""

    top1_gain: float
    share: float
    pearson_r: float

    @property
    def quality(self) -> float:
        """Choosing well counts four times as much as knowing how well: every draft needs the one, few the other."""
        return self.share + self.pearson_r / 4


def measure(scores: Sequence[Floats], gains: Sequence[Floats]) -> Fit:
    """Scores and gains of each request's candidates, (C,) each."""
    chosen = np.array([own[np.argmax(mine)] for mine, own in zip(scores, gains, strict=True)])
    top = np.array([mine.max() for mine in scores])
    best = sum(float(own.max()) for own in gains)
    spread = float(top.std() * chosen.std())
    r = float(np.mean((top - top.mean()) * (chosen - chosen.mean())) / spread) if spread else 0.0
    return Fit(float(chosen.mean()), float(chosen.sum() / best) if best > 0 else 0.0, r)


def floor_of(scores: Floats, gains: Floats) -> float | None:
    """The highest score below which documents have not helped on the whole (mean gain at most 0); None for nowhere.

    Both (N,), over all documents of all requests.
    """
    order = np.argsort(scores, kind="stable")
    total = gains[order].cumsum()
    places = np.flatnonzero(total <= 0.0)
    if not len(places) or places[-1] + 1 == len(order):
        return None if not len(places) else float(scores.max())
    return float(scores[order][places[-1] + 1])
