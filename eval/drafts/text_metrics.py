"""Metrics of single drafts: ROUGE against the text the user really wrote, and how much the draft sounds like them.

ROUGE is that of the library ``rouge-score`` with its own words (lower-cased runs of a-z and 0-9, no stemming), so texts
of another script share none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pearl.likeness.likeness import Likeness
from pearl.stats import Floats


class Rouge:
    """ROUGE-1 and ROUGE-2 F1 (Lin 2004): the words and pairs of words that two texts share."""

    @cached_property
    def _scorer(self) -> Any:
        from rouge_score.rouge_scorer import RougeScorer

        return RougeScorer(["rouge1", "rouge2"])

    def scores(self, target: str, draft: str) -> tuple[float, float]:
        scores = self._scorer.score(target, draft)
        return scores["rouge1"].fmeasure, scores["rouge2"].fmeasure


class Sounding:
    """P(this person wrote it) by what they had written before each request, against the registers that ship."""

    def __init__(self, histories: Sequence[tuple[str, ...]]) -> None:
        """``histories``: the person's texts for each request; equal ones are fitted once."""
        fitted = {texts: Likeness.fit(texts) for texts in dict.fromkeys(histories)}
        self._people = [fitted[texts] for texts in histories]

    @property
    def is_known(self) -> bool:
        """True when any history is large enough."""
        return any(person.words_model is not None for person in self._people)

    def features(self, texts: Sequence[str]) -> Floats:
        """The probability and 1 for each text, (N, 2); zeros where the text or its history is too short to say."""
        chances = [person.score(text).probability for person, text in zip(self._people, texts, strict=True)]
        return np.array([(0.0, 0.0) if chance is None else (chance, 1.0) for chance in chances], np.float64)
