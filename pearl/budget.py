"""A budget of time for a long piece of work, and the share of each step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Budget:
    """A number of minutes from now, None without a limit. A step ends when its share of them has passed."""

    def __init__(self, minutes: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.minutes = minutes
        self._clock = clock
        self._started = clock()
        self._seconds = math.inf if minutes is None else minutes * 60

    def seconds_until(self, share: float) -> float | None:
        """Seconds left until this share of the whole has passed, 0 when it has; None without a limit."""
        if math.isinf(self._seconds):
            return None
        return max(0.0, self._started + self._seconds * share - self._clock())

    def left(self, share: float) -> Callable[[], float]:
        """A function that gives the seconds until this share of the whole has passed; infinity without a limit."""

        def seconds() -> float:
            left = self.seconds_until(share)
            return math.inf if left is None else left

        return seconds

    def until(self, share: float) -> Callable[[], bool]:
        """A function that is True until this share of the whole has passed."""
        return lambda: self.seconds_until(share) != 0.0

    def minutes_until(self, share: float) -> float | None:
        """Minutes until this share has passed, at least one, so that a late step still does a little."""
        left = self.seconds_until(share)
        return None if left is None else max(1.0, round(left / 60, 1))

    def elapsed_minutes(self) -> float:
        return (self._clock() - self._started) / 60
