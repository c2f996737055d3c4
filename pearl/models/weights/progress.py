"""The progress of a transfer, on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from pearl.models.runtime.progress import duration

TOLD_S = 10.0  # between two lines where there is no terminal for a bar
MB = 1_000_000


class Transfer:
    """Shows the bytes transferred, the rate and the time left, both measured since ``begin``."""

    def __init__(
        self, console: Console, bar: Progress, label: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._bar = bar
        self._label = label
        self._clock = clock
        self._begun_s = self._told_s = clock()
        self._begun = 0
        self._total: int | None = None
        self._task = bar.add_task(label, total=None)

    def begin(self, done: int, total: int | None) -> None:
        """Start the clock, with ``done`` bytes kept from an earlier transfer."""
        self._begun_s = self._told_s = self._clock()
        self._begun, self._total = done, total
        self._bar.reset(self._task, total=total, completed=done)
        if done:
            self.say(f"{done / MB:,.0f} MB are kept from before")

    def at(self, done: int) -> None:
        self._bar.update(self._task, completed=done)
        now = self._clock()
        if not self._console.is_terminal and now - self._told_s >= TOLD_S:
            self._told_s = now
            self.say(self._line(done, now - self._begun_s))

    def say(self, what: str) -> None:
        self._console.print(f"{self._label}: {what}", soft_wrap=True, highlight=False, markup=False)

    def _line(self, done: int, seconds: float) -> str:
        rate = (done - self._begun) / seconds
        there = f"{done / MB:,.0f} MB" if self._total is None else f"{done / MB:,.0f} of {self._total / MB:,.0f} MB"
        left = "" if self._total is None or not rate else f", {duration((self._total - done) / rate)} left"
        return f"{there}, {rate / MB:.1f} MB/s{left}"


def bytes_bar(console: Console) -> Progress:
    """Make a progress bar of bytes, drawn on a terminal only."""
    columns = (
        *(TextColumn("{task.description}"), BarColumn(), DownloadColumn()),
        *(TransferSpeedColumn(), TimeRemainingColumn()),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)


@contextmanager
def shown_transfer(console: Console, label: str) -> Iterator[Transfer]:
    with bytes_bar(console) as bar:
        yield Transfer(console, bar, label)
