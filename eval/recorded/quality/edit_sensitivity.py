"""Sensitivity of a score to single edits: the edits of a trace executed one after another, and the score after each.

papers/writing-quality-rewards.txt, section 6: each edit raises the median score by 0.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from eval.recorded.quality.edit_traces import ExecutedTrace
from eval.recorded.quality.scorers import Scores
from pearl.editing.edits import replaced
from pearl.records import PlacedEdit
from pearl.stats.bootstrap import Bootstrap, drawn

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20
PRINTED = 0.2  # the paper's median change by an edit


@dataclass(frozen=True, slots=True)
class Step:
    """The scores before and after an edit of a trace; ``words``: how many more the text has."""

    record: int
    edit: PlacedEdit
    before: float
    after: float
    words: int

    @property
    def change(self) -> float:
        return self.after - self.before


def steps(traces: Sequence[ExecutedTrace], scores: Scores) -> list[Step]:
    """Every edit in the order of its draft, executed after those before it."""
    versions = [  # the draft with none, one, two, ... and all of its edits
        [replaced(trace.trace.draft, trace.tidied.placed[:number]) for number in range(len(trace.tidied.placed) + 1)]
        for trace in traces
    ]
    flat = list(dict.fromkeys(text for mine in versions for text in mine))
    by_text = dict(zip(flat, (float(score) for score in scores(flat)), strict=True))
    return [
        Step(
            trace.trace.line,
            edit,
            by_text[before],
            by_text[after],
            len(after.split()) - len(before.split()),
        )
        for trace, mine in zip(traces, versions, strict=True)
        for edit, (before, after) in zip(trace.tidied.placed, pairwise(mine), strict=True)
    ]


def sensitivity_report(
    traces: Sequence[ExecutedTrace], scores: Scores, *, resamples: int, seed: int
) -> dict[str, Any] | None:
    """The change of the score by an edit: median and mean with intervals, distribution, by category, beside the change
    in length; and the change by all edits of a trace. None where no edit was executed."""
    every = steps(traces, scores)
    if not every:
        return None
    by_trace, by_category = defaultdict[int, list[Step]](list), defaultdict[str, list[Step]](list)
    for step in every:
        by_trace[step.record].append(step)
        by_category[step.edit.category].append(step)
    change = np.array([step.change for step in every])
    bootstrap = _bootstrap(every, resamples, seed)
    edges = np.histogram_bin_edges(change, BINS)
    return {
        "n": len(every),
        "traces": len(by_trace),
        "median": bootstrap.median(change).to_json(),
        "mean": bootstrap.mean(change).to_json(),
        "raised": bootstrap.share(change > 0).to_json(),
        "printed_median": PRINTED,
        "quantiles": dict(zip(map(str, QUANTILES), np.quantile(change, QUANTILES).round(6).tolist(), strict=True)),
        "histogram": {"edges": edges.round(6).tolist(), "counts": np.histogram(change, edges)[0].tolist()},
        "with_words": bootstrap.spearman(change, [step.words for step in every]).to_json(),
        "categories": [
            {
                "category": name,
                "n": len(mine),
                "median": _bootstrap(mine, resamples, seed).median([step.change for step in mine]).to_json(),
            }
            for name, mine in sorted(by_category.items())
        ],
        "traces_change": _whole_traces(by_trace, resamples, seed) if len(by_trace) > 1 else None,
        "by_edits": list(_by_edits(by_trace)),
    }


def _bootstrap(some: Sequence[Step], resamples: int, seed: int) -> Bootstrap:
    """Resamples of the traces, or of the edits of one."""
    return Bootstrap(drawn([str(step.record) for step in some]), resamples=resamples, seed=seed)


def _whole_traces(by_trace: Mapping[int, Sequence[Step]], resamples: int, seed: int) -> dict[str, Any]:
    """The change from the draft to the text with all edits, over traces."""
    changes = [mine[-1].after - mine[0].before for mine in by_trace.values()]
    bootstrap = Bootstrap([str(record) for record in by_trace], resamples=resamples, seed=seed)
    return {
        "median": bootstrap.median(changes).to_json(),
        "raised": bootstrap.share(np.array(changes) > 0).to_json(),
        "edits_median": float(np.median([len(mine) for mine in by_trace.values()])),
    }


def _by_edits(by_trace: Mapping[int, Sequence[Step]]) -> Iterator[dict[str, Any]]:
    """The median change from the draft once so many edits are executed, over the traces that have as many."""
    for number in range(1, max(map(len, by_trace.values())) + 1):
        changes = [mine[number - 1].after - mine[0].before for mine in by_trace.values() if len(mine) >= number]
        low, middle, high = np.quantile(changes, (0.25, 0.5, 0.75)).round(6).tolist()
        yield {"edits": number, "traces": len(changes), "median": middle, "quarter": low, "three_quarters": high}
