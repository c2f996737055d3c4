"""The options of a reward model's training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.choices import CORRECTED
from training.reward.choices import REWARD_CHOICES, RewardChoices


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardOptions(RewardChoices):
    """``test``: files whose paragraphs are not to be trained on; ``other_kind``: files of pairs of
    other kinds, by which a model may ship. ``dev_share``: of the underlying paragraphs, to stop
    by; ``patience``: epochs without a better loss there. ``work``: what an interrupted run is resumed from."""

    data: tuple[Path, ...]
    out: Path
    work: Path
    variant: str
    test: tuple[Path, ...] = ()
    other_kind: tuple[Path, ...] = ()
    preset: str = CORRECTED
    dev_share: float = 0.1
    patience: int = 5
    budget_minutes: float | None = None
    device: str = "cpu"
    seed: int = 0

    @property
    def held_back(self) -> tuple[Path, ...]:
        """The files whose paragraphs are not learned from."""
        return (*self.test, *self.other_kind)

    @property
    def files(self) -> tuple[Path, ...]:
        return (*self.data, *self.held_back)

    @property
    def choices(self) -> dict[str, Any]:
        """Every choice of a preset as it was made, by name."""
        return {choice.name: getattr(self, choice.name) for choice in REWARD_CHOICES}
