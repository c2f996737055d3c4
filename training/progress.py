"""Progress of resumable work, with an estimate of the time left, also for transformers' trainer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

SAID_EACH_S = 10.0
Advance = Callable[[int, bool], None]


@contextmanager
def progress_of(label: str, total: int, console: Console) -> Iterator[Advance]:
    """Show a bar, or a line every SAID_EACH_S seconds if there is no terminal. Yield a function to call with a number
    of finished items and whether they were computed in this run.

    Speed and time left count only the items computed in this run.
    """
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rest]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=total, rest="")
        started, done, computed = time.monotonic(), 0, 0
        said = started - SAID_EACH_S

        def advance(items: int, now: bool) -> None:
            nonlocal done, computed, said
            done += items
            computed += items if now else 0
            passed = time.monotonic()
            rate = computed / (passed - started)
            left = f"{rate:.1f}/s, {(total - done) / rate / 60:.0f} min left" if rate else ""
            progress.update(bar, completed=done, rest=left)
            if not console.is_terminal and (passed - said >= SAID_EACH_S or done == total):
                said = passed
                console.print(f"{label} {done:,}/{total:,} {left}".rstrip(), highlight=False, soft_wrap=True)

        yield advance


def train_on(trainer: Any, steps: int, folder: Path, label: str, console: Console) -> None:
    """Run the trainer up to ``steps`` with a progress bar, from the last checkpoint in ``folder`` if there is one."""
    from transformers import TrainerCallback

    from retriever.models.files import system_errors
    from training.files import last_checkpoint

    class Steps(TrainerCallback):
        """Counts the steps on the bar."""

        done = 0

        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.done = state.global_step
            advance(self.done, False)

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            advance(state.global_step - self.done, True)
            self.done = state.global_step

    trainer.add_callback(Steps())
    with progress_of(label, steps, console) as advance, system_errors(folder):
        trainer.train(resume_from_checkpoint=last_checkpoint(folder))
