"""The scored examples of each split, and the files of gains that measure with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rich.console import Console

from pearl.budget import Budget
from pearl.history.partition import ROLLING
from pearl.history.split import DEV, TEST, TRAIN
from retriever.models.auxiliary import AuxiliaryModel
from retriever.models.load_auxiliary import load_auxiliary
from training.choices import EXTENT_CHOICES
from training.data.division import Division
from training.data.records import Example, write_gains
from training.data.split import BY_USERS, way_of
from training.gains.corpus import Corpus, Origin, check_scored, left_unscored, origins_of, take_scores
from training.gains.scoring import Pace
from training.gains.units import GainOptions
from training.options import TrainingOptions, gains_file


class SplitScoring:
    """Scores a split of all histories at a time; the auxiliary model is loaded when the first pair is to be scored."""

    def __init__(self, corpora: Sequence[Corpus], options: TrainingOptions, budget: Budget, console: Console) -> None:
        self._corpora = corpora
        self._options = options
        self._budget = budget
        self._console = console
        self._pace = Pace()

    @cached_property
    def way(self) -> str:
        """The way to split the histories: by users or by time."""
        least = {split: plan.least for split, plan in self._options.plans.items()}
        return way_of([corpus.histories for corpus in self._corpora], least, self._options.seed)

    @cached_property
    def _model(self) -> AuxiliaryModel:
        options = self._options
        return load_auxiliary(options.aux, device=options.device, dtype=options.dtype)

    def examples(self, split: str, since: float, until: float, *, least: int = 0) -> list[Example]:
        """The scored examples of a split; each corpus gets as much of the time between the two shares of the budget,
        and its ``least`` smallest units are scored however little that is."""
        options, corpora = self._options, self._corpora
        plan = options.plans[split]
        users = sum(len(corpus.histories) for corpus in corpora)
        partition = options.partition if split == TRAIN else ROLLING
        extent = GainOptions(
            options.template,
            split,
            partition,
            plan.targets_of(users, self.way) if partition == ROLLING else plan.targets,
            options.candidates_of(split),
            plan.least,
            plan.users,
            **{name: getattr(options, name) for name in EXTENT_CHOICES},
            seed=options.seed,
            way=self.way,
        )
        examples: list[Example] = []
        for number, corpus in enumerate(corpora, start=1):
            left = self._budget.left(since + (until - since) * number / len(corpora))
            examples += corpus.scored(
                extent, lambda: self._model, options.work, left, self._console, options.normalize, least, self._pace
            )
        return examples


@dataclass(frozen=True, slots=True)
class KeptScores:
    """The scores that a working folder holds: the options that they were made with, their origins by the histories'
    names, the division into what is learned from and what is chosen by, and the examples to measure with."""

    options: TrainingOptions
    origins: dict[str, Origin]
    division: Division
    test: list[Example]


def check_work(corpora: Sequence[Corpus], options: TrainingOptions) -> None:
    """Raises InputError for a working folder that is to hold scores and does not exist: a mistyped one is not made."""
    if not (options.scores or options.work.is_dir()):
        check_scored(corpora, (TRAIN, DEV), options.work)


def scored_before(corpora: Sequence[Corpus], options: TrainingOptions) -> KeptScores:
    """The scores in ``work``, to which those of the files ``scores`` are copied. Raises InputError where some of those
    to train on or to choose by are missing."""
    splits = (TRAIN, DEV, *(take_scores(corpora, options.scores, options.work) & {TEST}))
    check_scored(corpora, splits, options.work)
    origins = origins_of(corpora, splits, options.work)
    origin = next(iter(origins.values()), Origin(options.aux, options.template, BY_USERS))
    first: Mapping[str, Any] = next(iter(origin.extents.values()), {})
    examples = {
        split: [
            example for corpus in corpora for example in corpus.scored_before(split, options.work, options.normalize)
        ]
        for split in splits
    }
    division = Division.of(examples, left_unscored(corpora, (TRAIN, DEV), options.work), origin.way)
    made_with = replace(options, aux=origin.aux, template=origin.template).scored_as(first)
    return KeptScores(made_with, origins, division, examples.get(TEST, []))


def write_gains_of(
    examples: Sequence[Example], split: str, corpora: Sequence[Corpus], options: TrainingOptions
) -> None:
    """A file for each corpus that has any."""
    for corpus in corpora:
        own = [example for example in examples if example.domain == corpus.name]
        file = gains_file(options.work, split, corpus.name)
        if own:
            write_gains(own, file)
        else:
            file.unlink(missing_ok=True)
