"""How a long run goes, on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from eval.drafts import Watch
from eval.generations import Generation

QUIET_S = 60.0  # between two lines where nobody can see a bar


def bars(console: Console) -> Progress:
    """Nothing is drawn where nobody can see it; a bar's ``rest`` is said behind it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rest]}"))
    return Progress(*columns, console=console, disable=not console.is_terminal)


def duration(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def counter(
    console: Console, progress: Progress, label: str, total: int, *, closing: bool = False
) -> Callable[[bool], None]:
    """What is told of each item, and whether it failed. The estimate is from those that were really made.

    ``closing``: where nobody sees a bar there is a last line, too.
    """
    bar = progress.add_task(label, total=total, rest="" if total else "kept from before")
    done, failed, started = 0, 0, time.monotonic()
    told = started

    def advance(failure: bool) -> None:
        nonlocal done, failed, told
        done, failed, now = done + 1, failed + failure, time.monotonic()
        each = (now - started) / done  # several are under way at once
        rest = f"{each:.1f} s each, {duration(each * (total - done))} left"
        rest += f", {failed} failed" if failed else ""
        progress.update(bar, advance=1, rest=rest)
        if not console.is_terminal and (now - told > QUIET_S or (closing and done == total)):
            told = now
            console.print(f"{label}: {done:,} of {total:,}, {rest}", soft_wrap=True)

    return advance


@contextmanager
def watched(console: Console) -> Iterator[Watch]:
    """What tells of each generation as it comes."""
    with bars(console) as progress:

        def watch(label: str, total: int) -> Callable[[Generation], None]:
            advance = counter(console, progress, label, total, closing=True)
            return lambda generation: advance(bool(generation.error))

        yield watch
