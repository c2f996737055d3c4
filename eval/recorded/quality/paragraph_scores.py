"""Scorers of single paragraphs by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eval.recorded.quality.scorers import BY_NAME
from pearl.options import known
from pearl.stats import Floats

ABSOLUTE = [name for name, scorer in BY_NAME.items() if scorer.scores is not None]


@dataclass(frozen=True, slots=True)
class ParagraphScorer:
    """``scores`` are higher for better texts."""

    name: str
    scores: Callable[[Sequence[str]], Floats]


def paragraph_scorer(scorer: str | None) -> ParagraphScorer | None:
    """The scorer of this name; None where none is given."""
    if scorer is None:
        return None
    scores = BY_NAME[known("scorer", scorer, ABSOLUTE)].scores
    assert scores is not None
    trivial = scores
    return ParagraphScorer(scorer, lambda texts: np.asarray(trivial(texts), np.float64))
