"""ROUGE: the likeness of a draft to the text the user really wrote, each text pair by itself.

It is that of the library ``rouge-score`` with its own words (lower-cased runs of a-z and 0-9, no stemming), so texts of
another script share none.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any


class Rouge:
    """ROUGE-1 and ROUGE-2 F1 (Lin 2004): the words and pairs of words that two texts share."""

    @cached_property
    def _scorer(self) -> Any:
        from rouge_score.rouge_scorer import RougeScorer

        return RougeScorer(["rouge1", "rouge2"])

    def scores(self, target: str, draft: str) -> tuple[float, float]:
        found = self._scorer.score(target, draft)
        return found["rouge1"].fmeasure, found["rouge2"].fmeasure
