"""Scorers of single paragraphs by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eval.recorded.quality.scorers import BY_NAME
from pearl.errors import InputError
from pearl.options import known
from pearl.stats import Floats

ABSOLUTE = [name for name, scorer in BY_NAME.items() if scorer.scores is not None]


@dataclass(frozen=True, slots=True)
class ParagraphScorer:
    """``scores`` are higher for better texts."""

    name: str
    scores: Callable[[Sequence[str]], Floats]


def paragraph_scorer(scorer: str | None, model: str | None = None) -> ParagraphScorer | None:
    """The trivial scorer of a name, or a reward model; None where neither is given. Raises InputError for both."""
    if scorer is not None and model is not None:
        raise InputError("--scorer and --model are two ways to score; give one.", param="scorer")
    if model is not None:
        from retriever.reward.scores import load_scores

        return ParagraphScorer(model, load_scores(model, f"--model {model}"))
    if scorer is None:
        return None
    scores = BY_NAME[known("scorer", scorer, ABSOLUTE)].scores
    assert scores is not None
    trivial = scores
    return ParagraphScorer(scorer, lambda texts: np.asarray(trivial(texts), np.float64))
