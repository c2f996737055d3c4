"""The cross-encoder reads the best documents of the first stage, in order.

Dimensions in comments: C candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass

from pearl.clock import Clock
from retriever.base import Positions, Scores, best_first

MOST = 32
AT_ONCE = 16  # documents read before looking at the clock again; fewer are not read side by side

Reader = Callable[[Iterable[Positions]], Generator[Scores, None, None]]


@dataclass(frozen=True, slots=True)
class Cascade:
    """The mix of a cross-encoder's logits with the first stage's scores; documents not read keep the latter."""

    most: int = MOST  # documents to read
    weight: float = 1.0  # of the logit; the first stage's score has the rest

    def scores(self, first: Scores, read: Reader, clock: Clock) -> Scores:
        """Calibrated scores, (C,), from the first stage's, and from the logits that ``read`` gives for one part of the
        positions after the other.

        If time runs out part-way, the logits read so far are discarded.
        """
        best = best_first(first)[: self.most]
        scores = first.copy()
        parts = [best[start : start + AT_ONCE] for start in range(0, len(best), AT_ONCE)]
        with closing(read(parts)) as logits:
            for some in parts:
                if clock.is_late:
                    clock.cut_short = True
                    return first
                scores[some] = (1 - self.weight) * first[some] + self.weight * next(logits)
        return scores
