"""One training run: its options, the files that it reads and writes, its limits, and what its steps pass on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from pearl.clock import Budget
from pearl.text.history.partition import DEV, TEST, TRAIN
from retriever.models.cross_encoder import PairReading
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.config import (
    ALL,
    DISTILL,
    EXTENT_CHOICES,
    FITTED_CHOICES,
    RELEVANCE,
    SCORED_CHOICES,
    SELECTION_CHOICES,
    TrainingConfig,
    values_of,
)
from training.data.embeddings import KeptEncoder
from training.data.histories import Corpus
from training.data.selection import SelectionOptions
from training.data.split import BY_USERS

# the share of the budget that has passed when a step ends; what is measured with is scored last, and measured in what
# is left: a cross-encoder reads a pair in a sixth of the time that scoring it takes. The first requests to train on
# are scored however small the budget is: an artifact that says not to use it says more than an error
SCORED_TRAIN, SCORED_DEV, EMBEDDED_BY, FITTED, WRITTEN, SCORED_TEST = 0.32, 0.42, 0.52, 0.80, 0.88, 0.95


@dataclass(frozen=True)  # without slots, which would leave no place for the kept encoder
class Run:
    """The options, data, encoder, budget and console of one training run."""

    options: TrainingOptions  # all choices, and the folders to write to and to resume from
    corpora: Sequence[Corpus]  # of ``options.histories``, in their order
    loaded: SentenceEncoder
    budget: Budget
    console: Console

    @cached_property
    def encoder(self) -> KeptEncoder:
        """Return the encoder, which keeps its vectors in the working folder."""
        options = self.options
        return KeptEncoder(self.loaded, options.work / "embeddings", model_fingerprint(options.encoder))

    def say(self, note: str) -> None:
        """Write a note on the console."""
        self.console.print(f"Note: {note}.", highlight=False, markup=False, soft_wrap=True)


LEARNED = ("aux", *SCORED_CHOICES, *FITTED_CHOICES, *SELECTION_CHOICES, "loss", "first_stage_only")
CANDIDATES = 20  # of a request, a third of them likely to help


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """The part of a split that is scored: targets per user, users per corpus (None: all), least candidates per request.
    ``by_time``: about how many targets of all users, if histories are split by time."""

    targets: int
    users: int | None
    least: int
    by_time: int = 120

    def targets_of(self, users: int, way: str) -> int:
        """Return the number of targets per user, given the number of users and the way of splitting."""
        return self.targets if way == BY_USERS else max(self.targets, self.by_time // max(users, 1))


PLANS = {TRAIN: TrainingPlan(3, None, 5, 240), DEV: TrainingPlan(3, 40, 8, 90), TEST: TrainingPlan(2, 90, 12, 120)}


@dataclass(frozen=True, slots=True)
class TrainingOptions(TrainingConfig):
    """The choices of a training, and its files, budget and cluster."""

    histories: tuple[Path, ...]
    out: Path
    work: Path  # what an interrupted run is resumed from
    groups: Path | None = None
    scores: tuple[Path, ...] = ()  # files to fit on beside those in ``work``
    budget_minutes: float | None = None
    ray: str | None = None
    plans: Mapping[str, TrainingPlan] = field(default_factory=lambda: PLANS)

    def as_its_loss_asks(self) -> TrainingOptions:
        """Return the options with the values that the loss requires."""
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
        """Return the choices of what is learned that differ from the preset, by name, idle ones too."""
        usual = values_of(TrainingConfig, self.preset)
        return {name: value for name, value in self.record().items() if name in LEARNED and value != usual[name]}

    def plan(self, split: str) -> TrainingPlan:
        """Return how much of a split is scored."""
        return replace(self.plans[split], targets=self.targets) if split == TRAIN else self.plans[split]

    def scored_as(self, extent: Mapping[str, Any]) -> TrainingOptions:
        """Return the options with the choices that scores were made with, as ``extent`` describes them."""
        named = ("partition", "targets", *EXTENT_CHOICES)
        known: dict[str, Any] = {name: extent[name] for name in named if name in extent}
        if "candidates" in extent:
            known["candidates"] = extent["candidates"] or ALL
        return replace(self, **known)

    @property
    def reading(self) -> PairReading:
        return PairReading(self.max_tokens, self.request_words, self.own_requests)

    @property
    def own_device(self) -> str:
        """Return the device that this process computes on; with ``ray``, only the workers use ``device``."""
        return "cpu" if self.ray else self.device

    @property
    def is_cross_encoder_alone(self) -> bool:
        return self.weight == 1.0

    def candidates_of(self, split: str) -> int | None:
        """Return the number of candidates to score per request of the split; None for all, only in training."""
        return self.candidates or (None if split == TRAIN else CANDIDATES)

    @property
    def selection(self) -> SelectionOptions:
        return SelectionOptions(self.normalize, self.share, self.positives, self.negatives, self.seed)


def gains_file(work: Path, split: str, corpus: str) -> Path:
    """Return the path of the gains file of one history's split, which ``pearl eval`` reads."""
    return work / f"gains-{split}-{corpus}.jsonl.gz"
