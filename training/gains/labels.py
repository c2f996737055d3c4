"""The scored examples of each split, and the files of gains that measure with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rich.console import Console

from pearl.budget import Budget
from pearl.partition import ROLLING
from pearl.split import TRAIN
from retriever.models.auxiliary import AuxiliaryModel, load_auxiliary
from training.data.records import Example, write_gains
from training.data.split import way_of
from training.gains.corpus import Corpus
from training.gains.units import ScoringOptions
from training.options import TrainingOptions, gains_file


class SplitScoring:
    """Scores a split of all histories at a time; the auxiliary model is loaded when the first pair is to be scored."""

    def __init__(self, corpora: Sequence[Corpus], options: TrainingOptions, budget: Budget, console: Console) -> None:
        self._corpora = corpora
        self._options = options
        self._budget = budget
        self._console = console

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
        extent = ScoringOptions(
            options.template,
            split,
            partition,
            plan.targets_of(users, self.way) if partition == ROLLING else plan.targets,
            options.candidates_of(split),
            plan.least,
            plan.users,
            options.target_tokens,
            options.document_tokens,
            seed=options.seed,
            way=self.way,
        )
        examples: list[Example] = []
        for number, corpus in enumerate(corpora, start=1):
            left = self._budget.left(since + (until - since) * number / len(corpora))
            examples += corpus.scored(
                extent, lambda: self._model, options.work, left, self._console, options.normalize, least
            )
        return examples


def write_gains_of(
    examples: Sequence[Example], split: str, corpora: Sequence[Corpus], options: TrainingOptions
) -> None:
    """A file for each corpus that has any."""
    for corpus in corpora:
        own = [example for example in examples if example.user_id.startswith(f"{corpus.name}:")]
        file = gains_file(options.work, split, corpus.name)
        if own:
            write_gains(own, file)
        else:
            file.unlink(missing_ok=True)
