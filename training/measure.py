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
    """The score up to which documents are not expected to help (gain at most 0); None where all are.

    What is expected is the isotonic regression of the gains, (N,), on the scores, (N,): the best fit that only rises.
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(scores, kind="stable")
    expected = isotonic_regression(gains[order]).x
    useless = int((expected <= 0.0).sum())
    if useless == 0:
        return None
    return float(scores[order][min(useless, len(order) - 1)])
