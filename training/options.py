"""The options of a training: the histories, the models, what is scored and how it is fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from training.data.selection import KEPT_SHARE, NEGATIVES, POSITIVES, SUM, SelectionOptions
from training.data.split import BY_USERS, DEV, TEST, TRAIN

CALIBRATED, KL, DISTILL, RELEVANCE = "calibrated", "kl", "distill", "relevance"
LOSSES = (CALIBRATED, KL, DISTILL, RELEVANCE)


@dataclass(frozen=True, slots=True)
class Plan:
    """The extent of a split's scoring: targets per user, users per corpus, least candidates per request; ``by_time``:
    about this many targets of all users together, if there are few users."""

    targets: int
    users: int | None
    least: int
    by_time: int = 120

    def targets_of(self, users: int, way: str) -> int:
        """The number of targets per user."""
        return self.targets if way == BY_USERS else max(self.targets, self.by_time // max(users, 1))


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """``share``, ``positives`` and ``negatives`` are Algorithm 1's.

    ``first_stage_only``: no cross-encoder; ``keep_cross_encoder``: one even where dev would do without it.

    ``scores``: files to fit on beside those in ``work``.

    ``work``: the folder of what an interrupted run is resumed from.
    """

    histories: tuple[Path, ...]
    out: Path
    work: Path
    aux: str = "embedded"
    encoder: str = "embedded"
    base: str = "embedded"
    template: str = "post"
    candidates: int = 20
    normalize: str = SUM
    share: float = KEPT_SHARE
    positives: int = POSITIVES
    negatives: int = NEGATIVES
    proxy_targets: int = 30
    loss: str = CALIBRATED
    groups: Path | None = None
    scores: tuple[Path, ...] = ()
    first_stage_only: bool = False
    keep_cross_encoder: bool = False
    budget_minutes: float | None = None
    device: str = "cpu"
    dtype: str = "auto"
    seed: int = 0
    plans: dict[str, Plan] = field(
        default_factory=lambda: {TRAIN: Plan(3, None, 5, 240), DEV: Plan(3, 40, 8, 90), TEST: Plan(2, 90, 12, 120)}
    )

    @property
    def selection(self) -> SelectionOptions:
        return SelectionOptions(self.normalize, self.share, self.positives, self.negatives, self.seed)


def gains_file(work: Path, split: str, corpus: str) -> Path:
    """The gains file of a split of one history, for ``pearl eval``."""
    return work / f"gains-{split}-{corpus}.jsonl.gz"
