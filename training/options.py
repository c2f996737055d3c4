"""The options of a training: the histories, the models, what is scored and how it is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pearl.history.partition import ROLLING
from pearl.history.split import DEV, TEST, TRAIN
from retriever.models.cross_encoder import REQUEST_WORDS, PairReading
from training.choices import (
    ALL,
    CALIBRATED,
    CHOICES,
    CORRECTED,
    DISTILL,
    EXTENT_CHOICES,
    KEPT_SHARE,
    RELEVANCE,
    SEARCH,
    SUM,
    preset_values,
)
from training.data.selection import SelectionOptions
from training.data.split import BY_USERS

CANDIDATES = 20  # of a request, a third of them likely to help


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """The extent of a split's scoring: targets per user, users per corpus, least candidates per request; ``by_time``:
    about this many targets of all users together, if there are few users."""

    targets: int
    users: int | None
    least: int
    by_time: int = 120

    def targets_of(self, users: int, way: str) -> int:
        """The number of targets per user."""
        return self.targets if way == BY_USERS else max(self.targets, self.by_time // max(users, 1))


PLANS = {TRAIN: TrainingPlan(3, None, 5, 240), DEV: TrainingPlan(3, 40, 8, 90), TEST: TrainingPlan(2, 90, 12, 120)}


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """``share``, ``positives`` and ``negatives`` are Algorithm 1's; ``preset`` names where the choices of
    ``training/choices.py`` come from, whose defaults here are its ``corrected``.

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
    preset: str = CORRECTED
    partition: str = ROLLING
    candidates: int = CANDIDATES
    target_tokens: int = 128
    document_tokens: int = 160
    request_tokens: int = 256
    examples: int = 2
    proxies: int = 30
    tau: float | str = SEARCH
    y0: float | str = SEARCH
    weight: float | str = SEARCH
    warm_start: bool = True
    own_requests: bool = True
    frozen_layers: int = 1
    max_tokens: int = 128
    request_words: int = REQUEST_WORDS
    rate: float = 5e-5
    epochs: int = 1
    normalize: str = SUM
    share: float = KEPT_SHARE
    positives: int = 2
    negatives: int = 3
    loss: str = CALIBRATED
    groups: Path | None = None
    scores: tuple[Path, ...] = ()
    first_stage_only: bool = False
    keep_cross_encoder: bool = False
    budget_minutes: float | None = None
    device: str = "cpu"
    dtype: str = "auto"
    ray: str | None = None
    seed: int = 0
    plans: dict[str, TrainingPlan] = field(default_factory=lambda: dict(PLANS))

    def as_its_loss_asks(self) -> TrainingOptions:
        """The options with what the loss leaves no choice of."""
        if self.loss == DISTILL:
            # within a request log p(t given d, q) differs from the gain by a constant, which the softmax does not see,
            # so it is plain KL on all requests
            return replace(self, share=1.0)
        if self.loss == RELEVANCE:
            # it learns from texts alone, for their own requests would give the answer away, and so it reads them
            return replace(self, own_requests=False, weight=1.0)
        return self

    @property
    def changed(self) -> dict[str, Any]:
        """The values that differ from the preset's, or from the defaults of what no preset says, by name."""
        unsaid = ("normalize", "share", "positives", "negatives", "loss", "first_stage_only")
        defaults = {field.name: field.default for field in fields(self) if field.name in unsaid}
        here = self.choices | {name: getattr(self, name) for name in unsaid}
        usual = preset_values(self.preset) | defaults
        return {name: value for name, value in here.items() if value != usual[name]}

    @property
    def targets(self) -> int:
        """The number of targets of each training user."""
        return self.plans[TRAIN].targets

    @property
    def choices(self) -> dict[str, Any]:
        """Every choice of a preset as it was made, by name."""
        return {choice.name: getattr(self, choice.name) for choice in CHOICES}

    def scored_as(self, extent: Mapping[str, Any]) -> TrainingOptions:
        """The options with the choices that scores were made with; ``extent`` is their description's."""
        named = ("partition", *EXTENT_CHOICES)
        known: dict[str, Any] = {name: extent[name] for name in named if name in extent}
        if "candidates" in extent:
            known["candidates"] = extent["candidates"] or ALL
        if "targets" in extent:
            known["plans"] = self.plans | {TRAIN: replace(self.plans[TRAIN], targets=extent["targets"])}
        return replace(self, **known)

    @property
    def reading(self) -> PairReading:
        return PairReading(self.max_tokens, self.request_words, self.own_requests)

    @property
    def own_device(self) -> str:
        """The device of this process; with ``ray``, ``device`` is that of the workers."""
        return "cpu" if self.ray else self.device

    @property
    def is_cross_encoder_alone(self) -> bool:
        return self.weight == 1.0

    def candidates_of(self, split: str) -> int | None:
        """The number of candidates to score for a request of the split; None for all. Those to choose by and to measure
        with are comparable whatever is trained on."""
        return self.candidates or (None if split == TRAIN else CANDIDATES)

    @property
    def selection(self) -> SelectionOptions:
        return SelectionOptions(self.normalize, self.share, self.positives, self.negatives, self.seed)


def gains_file(work: Path, split: str, corpus: str) -> Path:
    """The gains file of a split of one history, for ``pearl eval``."""
    return work / f"gains-{split}-{corpus}.jsonl.gz"
