"""Scoring the splits of all histories within the budget, reading scores of earlier runs, and writing files of gains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pearl.errors import InputError
from pearl.text.history.partition import DEV, ROLLING, SPLITS, TEST, TRAIN
from retriever.models.auxiliary import AuxiliaryModel
from retriever.templates import auxiliary_template
from training.config import EXTENT_CHOICES
from training.data.histories import Corpus
from training.data.records import Example, write_gains
from training.data.split import BY_USERS, DataSplit, way_of
from training.gains.auxiliary import RayAuxiliary, auxiliary_model
from training.gains.corpus import (
    ScoreProvenance,
    check_scored,
    examples_of,
    left_unscored,
    origins_of,
    scores_file,
    take_scores,
)
from training.gains.scores import merge_scores
from training.gains.scoring import Pace, dtype_for, group_of, prepared, score_units
from training.gains.units import NOTHING_TO_SCORE, GainOptions, plan_units, target_texts
from training.progress import progress_of
from training.run import Run, TrainingOptions, gains_file


class SplitScoring:
    """Scores one split at a time, of all histories. The auxiliary model is loaded when it is first needed."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pace = Pace()

    @cached_property
    def way(self) -> str:
        """Return how the histories are split: by users or by time."""
        least = {split: plan.least for split, plan in self._run.options.plans.items()}
        return way_of([corpus.histories for corpus in self._run.corpora], least, self._run.options.seed)

    @cached_property
    def _model(self) -> AuxiliaryModel | RayAuxiliary:
        options = self._run.options
        files = (scores_file(options.work, corpus.name, split) for corpus in self._run.corpora for split in SPLITS)
        dtype = dtype_for(options.dtype, (file.with_suffix(".parts") for file in files))
        return auxiliary_model(options.aux, options.device, dtype, options.ray)

    def close(self) -> None:
        """End the workers of the Ray cluster, if it was used."""
        if isinstance(model := self.__dict__.get("_model"), RayAuxiliary):
            model.close()

    def _extent(self, split: str) -> GainOptions:
        """Return what is to be scored of a split."""
        options, corpora = self._run.options, self._run.corpora
        plan = options.plan(split)
        users = sum(len(corpus.histories) for corpus in corpora)
        partition = options.partition if split == TRAIN else ROLLING
        return GainOptions(
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

    def planned(self, split: str) -> int:
        """Count the requests of a split that would be scored in unlimited time."""
        requests: set[tuple[str, str, str]] = set()
        for corpus in self._run.corpora:
            with suppress(InputError):  # nothing to score
                units = plan_units(corpus.histories, self._extent(split))
                requests |= {(corpus.name, unit.user_id, target.id) for unit in units for target, _ in unit.pairs}
        return len(requests)

    def examples(self, split: str, since: float, until: float, *, least: int = 0) -> list[Example]:
        """Score a split of all history files and return its examples. ``since`` and ``until`` are shares of the budget,
        whose time is divided equally among files; ``least``: how many units of each file to score in any case."""
        corpora, extent = self._run.corpora, self._extent(split)
        examples: list[Example] = []
        for number, corpus in enumerate(corpora, start=1):
            left = self._run.budget.left(since + (until - since) * number / len(corpora))
            examples += self.scored(corpus, extent, left, least)
        return examples

    def scored(self, corpus: Corpus, extent: GainOptions, left: Callable[[], float], least: int = 0) -> list[Example]:
        """Score a split of one corpus as far as the seconds ``left`` allow, and return its examples; none if no user of
        the split has enough documents.

        The ``least`` smallest units are scored in any case; requests may then have only some of their candidates.
        """
        options = self._run.options
        out = scores_file(options.work, corpus.name, extent.split)
        parts = out.with_suffix(".parts")
        options.work.mkdir(parents=True, exist_ok=True)
        try:
            units = plan_units(corpus.histories, extent)
        except InputError as error:
            if error.code != NOTHING_TO_SCORE:
                raise
            merge_scores([], parts, out, {})
            return []
        prompts, targets = auxiliary_template(extent.template), target_texts(units)
        scorer, described = prepared(self._model, prompts, extent, corpus.histories, targets, corpus.fingerprint)
        self._pace.left, self._pace.least = left, least
        with progress_of(f"scoring {out.stem}", sum(unit.size for unit in units), self._run.console) as advance:
            done = score_units(units, scorer, parts, described, advance, self._pace)
        # the last group of an interrupted run is left out: some candidates of a request are not all
        names = {unit.name for unit in done}
        partly = {group_of(unit.name) for unit in units if unit.name not in names}
        complete = [unit for unit in done if group_of(unit.name) not in partly] or done[:least]
        merge_scores(complete, parts, out, described)
        return examples_of(corpus, extent.split, options.work, options.normalize)


@dataclass(frozen=True, slots=True)
class KeptScores:
    """Scores of an earlier run. ``options``: the choices that they were made with; ``origins``: how each corpus was
    scored; ``division``: the examples to learn from and to choose by; ``test``: the examples to measure with."""

    options: TrainingOptions
    origins: dict[str, ScoreProvenance]
    division: DataSplit
    test: list[Example]


def check_work(run: Run) -> None:
    """Check that the working folder exists, if scores are to be read from it. Raises InputError if not."""
    if not (run.options.scores or run.options.work.is_dir()):
        check_scored(run.corpora, (TRAIN, DEV), run.options.work)


def scored_before(run: Run) -> KeptScores:
    """Read the scores in the working folder, into which the options' ``scores`` files are copied first. Raises
    InputError if scores to train on or to choose by are missing."""
    options, corpora, work = run.options, run.corpora, run.options.work
    splits = (TRAIN, DEV, *(take_scores(corpora, options.scores, work) & {TEST}))
    check_scored(corpora, splits, work)
    origins = origins_of(corpora, splits, work)
    origin = next(iter(origins.values()), ScoreProvenance(options.aux, options.template, BY_USERS))
    first: Mapping[str, Any] = next(iter(origin.extents.values()), {})
    examples = {
        split: [example for corpus in corpora for example in examples_of(corpus, split, work, options.normalize)]
        for split in splits
    }
    division = DataSplit.of(examples, left_unscored(corpora, (TRAIN, DEV), work), origin.way)
    made_with = replace(options, aux=origin.aux, template=origin.template).scored_as(first)
    return KeptScores(made_with, origins, division, examples.get(TEST, []))


def write_gains_of(run: Run, split: str, examples: Sequence[Example]) -> None:
    """Write a file of gains for each corpus with examples in the split; delete the file of a corpus without."""
    for corpus in run.corpora:
        own = [example for example in examples if example.domain == corpus.name]
        file = gains_file(run.options.work, split, corpus.name)
        if own:
            write_gains(own, file)
        else:
            file.unlink(missing_ok=True)
