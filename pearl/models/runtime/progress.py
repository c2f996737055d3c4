"""The progress of a long run, on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

QUIET_S = 60.0  # between two lines where there is no terminal for a bar
REDRAWN_S = 0.2  # a bar need not move at every call


def bars(console: Console) -> Progress:
    """Make progress bars, drawn on a terminal only, each followed by the text of its field ``rest``."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rest]}"))
    return Progress(*columns, console=console, disable=not console.is_terminal)


def duration(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


class ProgressLine:
    """Shows how many of ``total`` calls are done, and the time left, estimated from the calls of this run.

    ``closing``: also print a last line where there is no terminal.
    """

    def __init__(
        self,
        console: Console,
        progress: Progress,
        label: str,
        total: int,
        *,
        closing: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._progress = progress
        self._bar = progress.add_task(label, total=total, rest="" if total else "kept from before")
        self._label = label
        self._total = total
        self._closing = closing
        self._clock = clock
        self._started = self._told = self._drawn = clock()
        self._done = self._failed = 0

    def advance(self, failed: bool = False) -> None:
        self._done, self._failed = self._done + 1, self._failed + failed
        now, last = self._clock(), self._done == self._total
        if last or now - self._drawn > REDRAWN_S:
            self._drawn = now
            self._progress.update(self._bar, completed=self._done, rest=self._rest(now))
        if not self._console.is_terminal and (now - self._told > QUIET_S or (last and self._closing)):
            self._told = now
            self._say(f"{self._done:,} of {self._total:,}, {self._rest(now)}")

    def waits(self, seconds: float) -> None:
        """Report a wait for the endpoint's rate limit."""
        self._say(f"the endpoint's rate limit makes us wait {seconds:.0f} s")

    def _say(self, what: str) -> None:
        self._console.print(f"{self._label}: {what}", soft_wrap=True, highlight=False)

    def _rest(self, now: float) -> str:
        call_s = (now - self._started) / self._done  # several are under way at once
        pace = f"{call_s:.1f} s each" if call_s >= 1 or not call_s else f"{1 / call_s:.1f} per s"
        rest = f"{pace}, {duration(call_s * (self._total - self._done))} left"
        return rest + (f", {self._failed} failed" if self._failed else "")


@contextmanager
def watched(
    console: Console, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[str, int], ProgressLine]]:
    """Yield a function that starts a progress line with a label and a number of calls."""
    with bars(console) as progress:
        yield lambda label, total: ProgressLine(console, progress, label, total, clock=clock)
