"""transformers' trainer with our bar in place of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from retriever.models.files import system_errors
from training.files import last_checkpoint
from training.progress import progress_of


def train_on(trainer: Any, steps: int, folder: Path, label: str, console: Console) -> None:
    """Train for ``steps``, those before the last checkpoint in ``folder`` included."""
    from transformers import TrainerCallback

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
