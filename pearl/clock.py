"""Measuring time: a clock of the stages of some work with a time limit, a budget of minutes for long work, and a steady
Unix time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

# counts on while the machine sleeps, where there is such a clock
_since_boot = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
_BEFORE = time.time() - _since_boot()


def steady_time() -> float:
    """Return Unix seconds that advance evenly while the process runs, even if the system's clock is changed."""
    return _BEFORE + _since_boot()


@dataclass(slots=True)
class Clock:
    """Measures how long each stage of some work takes, and how much time is left until the limit of the whole work."""

    limit_ms: float | None = None  # None: as long as it takes
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds by stage
    cut_short: bool = False  # True if work was left out
    not_embedded: int = 0  # texts without an embedding in time
    not_read: bool = False  # True if the encoder knows no word of the request
    started: float = field(default_factory=time.perf_counter)
    under_way: dict[str, float] = field(default_factory=dict)  # when each stage that has not ended yet began

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.under_way[name] = time.perf_counter()
        try:
            yield
        finally:
            self.timings[name] = self._so_far(name)
            del self.under_way[name]

    @property
    def is_late(self) -> bool:
        return self.left_s == 0.0

    @property
    def left_s(self) -> float:
        """Return the seconds until the limit, 0 once it has passed; -1 without a limit, as for a lock's timeout."""
        if self.limit_ms is None:
            return -1.0
        return max(0.0, (self.limit_ms - _milliseconds_since(self.started)) / 1000)

    def read(self) -> dict[str, float]:
        """Return milliseconds by stage and, as ``total_ms``, in total. A running stage counts with its time so far."""
        running = {name: self._so_far(name) for name in self.under_way}
        return {**self.timings, **running, "total_ms": _milliseconds_since(self.started)}

    def _so_far(self, name: str) -> float:
        return self.timings.get(name, 0.0) + _milliseconds_since(self.under_way[name])


def _milliseconds_since(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 3)


class Budget:
    """A time limit for several steps of work, in minutes from now (None: no limit). A step may run until a given share
    of the minutes has passed."""

    def __init__(self, minutes: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.minutes = minutes
        self._clock = clock
        self._started = clock()
        self._seconds = math.inf if minutes is None else minutes * 60

    def seconds_until(self, share: float) -> float | None:
        """Return the seconds left until ``share`` of the budget has passed, 0 after that; None without a limit."""
        if math.isinf(self._seconds):
            return None
        return max(0.0, self._started + self._seconds * share - self._clock())

    def left(self, share: float) -> Callable[[], float]:
        """Return a function that returns the seconds until ``share`` of the budget has passed; infinity if
        unlimited."""

        def seconds() -> float:
            left = self.seconds_until(share)
            return math.inf if left is None else left

        return seconds

    def until(self, share: float) -> Callable[[], bool]:
        """Return a function that returns True until ``share`` of the budget has passed."""
        return lambda: self.seconds_until(share) != 0.0

    def minutes_until(self, share: float) -> float | None:
        """Return the minutes, at least 1, until ``share`` of the budget has passed; None without a limit."""
        left = self.seconds_until(share)
        return None if left is None else max(1.0, round(left / 60, 1))

    def elapsed_minutes(self) -> float:
        return (self._clock() - self._started) / 60
