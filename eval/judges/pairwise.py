"""Judges that compare two texts: the orders in which texts are shown, and measures of position bias, length bias and
consistency.

Dimensions in comments: N judgements, P pairs of orders, U units.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.asking.choices import PaperChoice
from eval.asking.lines import folded
from eval.asking.verdict import Answer, Given
from eval.judges.items import ItemT
from eval.judges.judge import Judgement, Trial
from eval.report.checks import BROKEN, Check, item_check
from eval.stats.coefficients import alpha
from eval.stats.proportions import wilson_json
from pearl.stats.bootstrap import Bootstrap, Floats, drawn

BOTH, RANDOM, AS_GIVEN = "both", "random", "as_given"
ORDER = PaperChoice(
    "order",
    {
        BOTH: "every run asks in both orders, so that a preference for a position cancels out and is measured",
        RANDOM: "each run of each item draws one order",
    },
    "Judges favour a position; one order drawn at random hides how much.",
)
IDENTICAL_TEXTS: Check[Sequence[Any]] = item_check(
    *("identical_texts", BROKEN, "Both texts are the same, so there is nothing to tell."),
    lambda item: folded(item.texts[0]) == folded(item.texts[1]),
)
FIRST, SECOND, TIE, NOTHING = 0, 1, 2, -1  # what is said of an item's two texts
CODES = {Answer.A: FIRST, Answer.B: SECOND, Answer.BOTH: TIE, Answer.TIE: TIE}


def code_of(judgement: Judgement[Any]) -> int:
    verdict = judgement.of_item()
    return CODES[verdict.answer] if isinstance(verdict, Given) else NOTHING


def orders(order: str, item_id: str, run: int, seed: int) -> tuple[bool, ...]:
    """Return the orders in which to show two texts: True if the item's second text comes first."""
    if order != RANDOM:
        return (False, True) if order == BOTH else (False,)
    return (random.Random(f"{seed} {run} {item_id}").random() < 0.5,)


def in_orders(items: Sequence[ItemT], runs: int, order: str, seed: int, way: Any = None) -> Iterator[Trial[ItemT]]:
    """Yield a trial (question to the judge) for each item, run and order."""
    for place, item in enumerate(items):
        for run in range(runs):
            for swapped in orders(order, item.id, run, seed):
                yield Trial(place, item, run, swapped, way)


@dataclass(frozen=True, slots=True)
class PairColumns:
    """Judgements as columns, (N,) each. ``place``: the item's index; ``code``: the verdict on the item's own texts
    (FIRST, SECOND, TIE or NOTHING); ``cluster``: what is resampled, the item itself if all are of one cluster."""

    place: NDArray[np.intp]
    run: NDArray[np.intp]
    swapped: NDArray[np.bool_]
    code: NDArray[np.intp]
    cluster: tuple[str, ...]

    @classmethod
    def of(cls, judgements: Iterable[Judgement[ItemT]], cluster: Callable[[ItemT], str]) -> PairColumns:
        judgements = tuple(judgements)
        trials = [judgement.trial for judgement in judgements]
        return cls(
            np.array([trial.place for trial in trials], np.intp),
            np.array([trial.run for trial in trials], np.intp),
            np.array([trial.swapped for trial in trials], bool),
            np.array(list(map(code_of, judgements)), np.intp),
            drawn([cluster(trial.item) for trial in trials], [f"item {trial.place}" for trial in trials]),
        )

    def bootstrap(self, seed: int) -> Bootstrap:
        return Bootstrap(self.cluster, seed=seed)

    @property
    def answered(self) -> Floats:
        return np.asarray(self.code != NOTHING, float)

    def says(self, code: int) -> Floats:
        return np.asarray(self.code == code, float)

    @property
    def taken(self) -> Floats:
        """Return 1 where the verdict is for the item's first text, -1 where it is for the second, and 0 elsewhere."""
        return self.says(FIRST) - self.says(SECOND)

    def in_both_orders(self) -> OrderPairs:
        """Return the questions that were asked, and answered, in both orders of the texts."""
        by_run: dict[tuple[int, int, str], list[int]] = defaultdict(list)
        for place, run, cluster, code in zip(self.place, self.run, self.cluster, self.code, strict=True):
            by_run[place, run, cluster] += [] if code == NOTHING else [code]
        both = {run: codes for run, codes in by_run.items() if len(codes) == 2}
        first, second = np.array(list(both.values()), np.intp).reshape(-1, 2).T
        changed = first != second
        return OrderPairs(changed, np.where(changed, TIE, first), tuple(cluster for _, _, cluster in both))


@dataclass(frozen=True, slots=True)
class OrderPairs:
    """The P questions that a judge answered in both orders of the texts, as columns. ``changed``: the two answers
    differ; ``code``: FIRST, SECOND or TIE, which also stands for differing answers; ``cluster``: what is resampled."""

    changed: NDArray[np.bool_]
    code: NDArray[np.intp]
    cluster: tuple[str, ...]

    def share(self, part: NDArray[Any], seed: int) -> dict[str, Any] | None:
        """Return the share of the questions in ``part``, with its interval; None if there are no questions."""
        if not self.cluster:
            return None
        return share(part, np.ones(len(part)), Bootstrap(self.cluster, seed=seed))


def share(part: NDArray[Any], among: NDArray[Any], bootstrap: Bootstrap) -> dict[str, Any] | None:
    """Return the share of ``part`` in ``among``, with a bootstrap interval over clusters, and Wilson's interval."""
    interval = bootstrap.share(part, among).to_json()
    return interval and {**interval, "wilson": wilson_json(int(part.sum()), int(among.sum()))}


def position(columns: PairColumns, seed: int) -> dict[str, Any]:
    """Measure position bias: the share of verdicts for the text shown first, and of verdicts that change with the
    order."""
    first = columns.taken * np.where(columns.swapped, -1, 1)
    pairs = columns.in_both_orders()
    return {
        "p_first": share(first > 0, first != 0, columns.bootstrap(seed)),
        "flip_rate": pairs.share(pairs.changed, seed),
        "pairs_of_orders": len(pairs.cluster),
    }


def prefers_longer(taken: Floats, texts: Sequence[tuple[str, str]], bootstrap: Bootstrap) -> dict[str, Any] | None:
    """Return the share of verdicts for the longer text, among decided verdicts on texts of different lengths.
    ``taken``: as in :class:`PairColumns`, (N,)."""
    longer = taken * np.array([np.sign(len(first.strip()) - len(second.strip())) for first, second in texts])
    return share(longer > 0, longer != 0, bootstrap)


def alpha_over_runs(
    columns: PairColumns, seed: int, *, by_order: bool = False
) -> tuple[dict[str, float] | None, str | None]:
    """Compute Krippendorff's alpha (nominal) of the answers on each item; ``by_order``: of the answers on each item in
    one order of its texts. None, with a reason, if there are too few answers or all are the same."""
    units = 2 * columns.place + (columns.swapped if by_order else 0)
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)  # (U,), (N,)
    clusters = [columns.cluster[place] for place in first]
    counts = np.zeros((len(first), 3))  # (U, K)
    np.add.at(counts, (unit, columns.code), columns.answered)  # NOTHING adds nothing
    shared = counts[counts.sum(axis=1) > 1]
    if not len(shared):
        return None, "no item has two answers"
    if (shared.sum(axis=0) > 0).sum() < 2:
        return None, "only one answer was given, so chance alone would agree"
    return alpha(counts, Bootstrap(clusters, seed=seed)).to_json(), None
