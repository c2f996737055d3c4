"""The choice of documents for the cross-encoder: the best of the first stage, and no more of them than can matter.

Dimensions in comments: C candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from pearl.clock import Clock
from retriever.base import Positions, Scores, best_first

MOST = 32
AT_ONCE = 16  # documents read before looking at the order and at the clock again; fewer are not read side by side
SETTLED = 4  # places at the top that are to be final: as many documents as a prompt shows


Reader = Callable[[Iterable[Positions]], Generator[Scores, None, None]]


@dataclass(frozen=True, slots=True)
class Cascade:
    """``most`` documents are read at most; the score of one that was is the cross-encoder's logit with ``weight``, and
    the first stage's score with the rest of it. That of one that was not takes the logit that was expected.

    ``reach`` is by how much the score of a document that is read exceeds that at most; None: unknown, so all of
    ``most`` are read.
    """

    most: int = MOST
    weight: float = 1.0
    reach: float | None = None

    def scores(self, first: Scores, expected: Scores, read: Reader, clock: Clock) -> Scores:
        """Calibrated scores, (C,), from the first stage's, from the logits that are expected of the cross-encoder, and
        from those that ``read`` gives for one part of the positions after the other.

        If time runs out part-way, the logits read so far are discarded.
        """
        unread = self.unread(first, expected)
        best = best_first(unread)[: self.most]
        scores = unread.copy()
        parts = [best[start : start + AT_ONCE] for start in range(0, len(best), AT_ONCE)]
        with closing(read(parts)) as logits:
            for number, some in enumerate(parts, start=1):
                if clock.is_late:
                    clock.cut_short = True
                    return unread
                scores[some] = (1 - self.weight) * first[some] + self.weight * next(logits)
                done, rest = np.split(best, [number * AT_ONCE])
                if len(rest) and self._is_settled(scores[done], float(unread[rest[0]])):
                    break
        return scores

    def unread(self, first: Scores, expected: Scores) -> Scores:
        """The scores without the cross-encoder, (C,)."""
        return np.asarray((1 - self.weight) * first + self.weight * expected, np.float32)

    def _is_settled(self, read: Scores, next_unread: float) -> bool:
        """True when no unread document can still enter the top places."""
        if self.reach is None or len(read) < SETTLED:
            return False
        return bool(np.partition(read, -SETTLED)[-SETTLED] >= next_unread + self.reach)
