"""How a run of many calls at once goes, on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TaskID

from eval.progress import QUIET_S, bars, duration

REDRAWN_S = 0.2  # a bar need not move at every call


@contextmanager
def watching(
    console: Console, label: str, total: int, clock: Callable[[], float] = time.monotonic
) -> Iterator[AskingWatch]:
    with bars(console) as progress:
        yield AskingWatch(console, progress, progress.add_task(label, total=total, rest=""), label, total, clock)


class AskingWatch:
    """The estimate is from the calls of this run, the waiting for rate limits included."""

    def __init__(
        self, console: Console, progress: Progress, bar: TaskID, label: str, total: int, clock: Callable[[], float]
    ) -> None:
        self._console = console
        self._progress = progress
        self._bar = bar
        self._label = label
        self._total = total
        self._clock = clock
        self._started = self._told = self._drawn = clock()
        self._done = self._failed = 0

    def advance(self, failed: bool) -> None:
        self._done, self._failed = self._done + 1, self._failed + failed
        now, last = self._clock(), self._done == self._total
        if last or now - self._drawn > REDRAWN_S:
            self._drawn = now
            self._progress.update(self._bar, completed=self._done, rest=self._rest(now))
        if not self._console.is_terminal and (last or now - self._told > QUIET_S):
            self._told = now
            self._say(f"{self._done:,} of {self._total:,}, {self._rest(now)}")

    def waits(self, seconds: float) -> None:
        """For the endpoint's rate limit."""
        self._say(f"the endpoint's rate limit makes us wait {seconds:.0f} s")

    def _say(self, what: str) -> None:
        self._console.print(f"{self._label}: {what}", soft_wrap=True, highlight=False)

    def _rest(self, now: float) -> str:
        each = (now - self._started) / self._done
        said = f"{1 / each:.1f} per s, {duration(each * (self._total - self._done))} left" if each else ""
        return said + (f", {self._failed} failed" if self._failed else "")
