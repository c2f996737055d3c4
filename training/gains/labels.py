"""The scored examples of each split, and the files of gains that measure with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rich.console import Console

from pearl.budget import Budget
from retriever.models.auxiliary import AuxiliaryModel, load_auxiliary
from training.data.partition import ROLLING
from training.data.records import Example, write_gains
from training.data.split import way_of
from training.gains.corpus import Corpus
from training.gains.units import ScoringOptions
from training.options import TrainingOptions, gains_file


class Auxiliary:
    """The auxiliary model, loaded when the first pair is to be scored."""

    def __init__(self, options: TrainingOptions) -> None:
        self._options = options

    @cached_property
    def model(self) -> AuxiliaryModel:
        return load_auxiliary(self._options.aux, device=self._options.device, dtype=self._options.dtype)


def splitting_of(corpora: Sequence[Corpus], options: TrainingOptions) -> str:
    """The way to split the histories: by users or by time."""
    least = {split: plan.least for split, plan in options.plans.items()}
    return way_of([corpus.histories for corpus in corpora], least, options.seed)


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


def scored_split(
    corpora: Sequence[Corpus],
    way: str,
    options: TrainingOptions,
    auxiliary: Auxiliary,
    budget: Budget,
    console: Console,
    split: str,
    since: float,
    until: float,
) -> list[Example]:
    """The scored examples of a split; each corpus gets as much of the time between the two shares of the budget."""
    plan = options.plans[split]
    users = sum(len(corpus.histories) for corpus in corpora)
    found: list[Example] = []
    for number, corpus in enumerate(corpora, start=1):
        what = ScoringOptions(
            options.template,
            split,
            ROLLING,
            plan.targets_of(users, way),
            options.candidates,
            plan.least,
            plan.users,
            seed=options.seed,
            way=way,
        )
        go_on = budget.until(since + (until - since) * number / len(corpora))
        found += corpus.scored(what, lambda: auxiliary.model, options.work, go_on, console, options.normalize)
    return found
