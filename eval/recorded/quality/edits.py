"""Executing recorded edits one after another, and measuring how much each edit changes a score.

In the paper an edit raises the median score by 0.2 (papers/writing-quality-rewards.txt, section 6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from eval.recorded.quality.edit_traces import (
    MARKS,
    SAME,
    SPACES,
    WORDS,
    ExecutedTrace,
)
from eval.recorded.quality.scorers import Scores
from eval.report.tables import Declared, Json, Table, rows_tables
from pearl.records import PlacedEdit
from pearl.stats.bootstrap import Bootstrap, drawn
from pearl.style.editing.edits import REASONS, replaced

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20
PRINTED = 0.2  # the paper's median change by an edit


@dataclass(frozen=True, slots=True)
class Step:
    """One executed edit of a trace, with the scores of the text before and after it."""

    record: int  # line of the trace
    edit: PlacedEdit
    before: float
    after: float
    words: int  # more than before the edit

    @property
    def change(self) -> float:
        return self.after - self.before


def steps(traces: Sequence[ExecutedTrace], scores: Scores) -> list[Step]:
    """A step for each executed edit. The edits of a trace are executed one after another, in the order of the draft."""
    versions = [  # the draft with none, one, two, ... and all of its edits
        [replaced(trace.trace.draft, trace.tidied.placed[:number]) for number in range(len(trace.tidied.placed) + 1)]
        for trace in traces
    ]
    flat = list(dict.fromkeys(text for texts in versions for text in texts))
    by_text = dict(zip(flat, (float(score) for score in scores(flat)), strict=True))
    return [
        Step(
            trace.trace.line,
            edit,
            by_text[before],
            by_text[after],
            len(after.split()) - len(before.split()),
        )
        for trace, texts in zip(traces, versions, strict=True)
        for edit, (before, after) in zip(trace.tidied.placed, pairwise(texts), strict=True)
    ]


def sensitivity_report(traces: Sequence[ExecutedTrace], scores: Scores) -> dict[str, Any] | None:
    """The change of the score by an edit: its median, mean and distribution, by category, and correlated with the
    change in length; and how much all edits of a trace change it. None if no edit was executed."""
    every = steps(traces, scores)
    if not every:
        return None
    by_trace, by_category = defaultdict[int, list[Step]](list), defaultdict[str, list[Step]](list)
    for step in every:
        by_trace[step.record].append(step)
        by_category[step.edit.category].append(step)
    change = np.array([step.change for step in every])
    bootstrap = _bootstrap(every)
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
                "n": len(group),
                "median": _bootstrap(group).median([step.change for step in group]).to_json(),
            }
            for name, group in sorted(by_category.items())
        ],
        "traces_change": _whole_traces(by_trace) if len(by_trace) > 1 else None,
        "by_edits": list(_by_edits(by_trace)),
    }


def _bootstrap(some: Sequence[Step]) -> Bootstrap:
    """Make a bootstrap over traces, or over edits if there is only one trace."""
    return Bootstrap(drawn([str(step.record) for step in some]))


def _whole_traces(by_trace: Mapping[int, Sequence[Step]]) -> dict[str, Any]:
    """The change of the score by all edits of a trace, over traces."""
    changes = [trace[-1].after - trace[0].before for trace in by_trace.values()]
    bootstrap = Bootstrap([str(record) for record in by_trace])
    return {
        "median": bootstrap.median(changes).to_json(),
        "raised": bootstrap.share(np.array(changes) > 0).to_json(),
        "edits_median": float(np.median([len(trace) for trace in by_trace.values()])),
    }


def _by_edits(by_trace: Mapping[int, Sequence[Step]]) -> Iterator[dict[str, Any]]:
    """Yield quartiles of the score's change after 1, 2, ... edits, over the traces with at least that many edits."""
    for number in range(1, max(map(len, by_trace.values())) + 1):
        changes = [trace[number - 1].after - trace[0].before for trace in by_trace.values() if len(trace) >= number]
        low, middle, high = np.quantile(changes, (0.25, 0.5, 0.75)).round(6).tolist()
        yield {"edits": number, "traces": len(changes), "median": middle, "quarter": low, "three_quarters": high}


REACHED = {
    SAME: "the stored text, character by character",
    SPACES: "the stored text, but for spaces",
    MARKS: "its words, with other marks or capitals",
    WORDS: "other words",
}


TABLES: Declared = {
    "reached": (
        "The texts of the traces with every edit executed: as the edits stand, and with rewrites joined to the text "
        "around them.",
        "text verbatim tidied",
    ),
    "not_reached": (
        "Traces whose stored text differs by more than spaces: places of difference at an executed edit, and "
        "elsewhere, where the text was changed without an edit.",
        "record differs_in at_edits elsewhere refused",
    ),
}


def edit_tables(result: Json) -> Iterator[Table]:
    """Yield tables of the executed edits, of the refused edits with reasons, and of the score's change by an edit."""
    spans, reach = result["spans"], result["traces"]["reach"]
    counts = {
        "edits": result["edits"],
        "spans that occur once": spans["once"],
        "spans that occur several times": spans["several_times"],
        "spans that do not occur": spans["missing"],
        "executed": result["executed"],
        **{f"refused: {REASONS[reason]}": number for reason, number in result["refused"].items()},
    }
    yield Table.facts(f"Edits of {result['n']:,} traces.", counts, result["command"])
    reached = [
        {"text": text, "verbatim": reach["verbatim"][name], "tidied": reach["tidied"][name]}
        for name, text in REACHED.items()
    ]
    yield from rows_tables({**result, "reached": reached}, TABLES)
    if sensitivity := result.get("sensitivity"):
        whole = sensitivity["traces_change"] or {}
        figures = {
            "median change by an edit": sensitivity["median"],
            "mean change by an edit": sensitivity["mean"],
            "edits that raise the score": sensitivity["raised"],
            "rank correlation with the change in words": sensitivity["with_words"],
            "median change by all edits of a trace": whole.get("median"),
            "traces whose score all edits raise": whole.get("raised"),
            **{f"quantile {name}": value for name, value in sensitivity["quantiles"].items()},
        }
        yield Table.facts(
            f"{result['scorer']} after each of {sensitivity['n']:,} edits of {sensitivity['traces']:,} traces, "
            f"executed one after another; the paper prints a median of {sensitivity['printed_median']:+g} for its "
            f"model. 95% intervals by bootstrap over {'traces' if sensitivity['traces'] > 1 else 'edits'}.",
            figures,
            result["command"],
        )
        yield from rows_tables(sensitivity, {"categories": ("The same by category.", "category n median")})
