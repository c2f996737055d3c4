"""``pearl eval edits``: recorded edits executed one after another, and how a score changes with each.

papers/writing-quality-rewards.txt, section 6: each edit raises the median score by 0.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from eval.commands.options import RewardName, TextScorerName
from eval.commands.reporting import reporting
from eval.recorded.quality.edit_traces import (
    MARKS,
    SAME,
    SPACES,
    WORDS,
    ExecutedTrace,
    executed,
    execution_report,
    read_traces,
)
from eval.recorded.quality.scorers import Scores, text_scorer
from eval.report.pictures import BLUE, GREY, ORANGE, canvas
from eval.report.report import Report
from eval.report.tables import Json, Table, interval, shown
from pearl.editing.edits import REASONS, replaced
from pearl.errors import InputError
from pearl.records import PlacedEdit
from pearl.stats.bootstrap import Bootstrap, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABOUT = """A record is a chat in which the user gives a paragraph and the assistant edits it in three parts:

\b
  {"messages": [{"role": "user", "content": "... Here is the paragraph you are editing:\\n..."},
                {"role": "assistant", "content": "Part 1: ...\\nSpan 1: `...` (Category: `Cliche`)\\n ..."}]}"""
EXAMPLES = """
  pearl eval edits --traces edit-cot-test_dataset.json.gz --json - | jq .traces
  pearl eval edits --traces traces.jsonl --scorer shorter --picture sensitivity.svg
  pearl eval edits --traces traces.jsonl --training-records editor.jsonl
"""


@reporting("eval", "edits", writes=("training_records",))
def edits(
    traces: Path = typer.Option(..., metavar="F.json", help="Chats that edit a paragraph in three parts."),
    scorer: TextScorerName = None,
    model: RewardName = None,
    training_records: Path | None = typer.Option(
        None,
        metavar="FILE.jsonl",
        help="Write the traces as chats to train an editor on, with the edits that can be executed.",
    ),
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw the change of the score; needs a scorer."),
) -> Report:
    """Execute recorded edits, say why some cannot be, and measure how a score changes with each."""
    from eval.asking.json_lines import write_lines
    from eval.recorded.quality.edit_traces import training_records as chats

    chosen = text_scorer(scorer, model)
    if picture is not None and chosen is None:
        raise InputError("--picture draws how a score changes; name one with --scorer or --model.", param="picture")
    executed_traces = executed(read_traces(traces))
    figures = execution_report(executed_traces)
    if chosen is not None:
        figures["scorer"] = chosen.name
        figures["sensitivity"] = sensitivity_report(executed_traces, chosen.scores)
        if picture is not None and figures["sensitivity"] is None:
            raise InputError("--picture: no edit can be executed, so no score changes.", param="picture")
    if training_records is not None:
        write_lines(training_records, chats(executed_traces), called=f"--training-records {training_records}")
    return Report(figures, edit_tables, picture=edits_figure)


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 20
PRINTED = 0.2  # the paper's median change by an edit


@dataclass(frozen=True, slots=True)
class Step:
    """The scores before and after an edit of a trace."""

    record: int  # line of the trace
    edit: PlacedEdit
    before: float
    after: float
    words: int  # more than before the edit

    @property
    def change(self) -> float:
        return self.after - self.before


def steps(traces: Sequence[ExecutedTrace], scores: Scores) -> list[Step]:
    """A step for each edit, in the order of the draft; each is executed after those before it."""
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
    """Resample the traces, or the edits where all are of one trace."""
    return Bootstrap(drawn([str(step.record) for step in some]))


def _whole_traces(by_trace: Mapping[int, Sequence[Step]]) -> dict[str, Any]:
    """The change from the draft to the text with all edits, over traces."""
    changes = [trace[-1].after - trace[0].before for trace in by_trace.values()]
    bootstrap = Bootstrap([str(record) for record in by_trace])
    return {
        "median": bootstrap.median(changes).to_json(),
        "raised": bootstrap.share(np.array(changes) > 0).to_json(),
        "edits_median": float(np.median([len(trace) for trace in by_trace.values()])),
    }


def _by_edits(by_trace: Mapping[int, Sequence[Step]]) -> Iterator[dict[str, Any]]:
    """Yield quartiles of the change from the draft after 1, 2, ... edits, over the traces that have as many."""
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


def edit_tables(result: Json) -> Iterator[Table]:
    """Yield tables of the edits executed, those that were not and why, and the change of the score with each."""
    spans = result["spans"]
    counts = {
        "edits": result["edits"],
        "spans that occur once": spans["once"],
        "spans that occur several times": spans["several_times"],
        "spans that do not occur": spans["missing"],
        "executed": result["executed"],
        **{f"refused: {REASONS[reason]}": number for reason, number in result["refused"].items()},
    }
    rows = tuple((name, f"{number:,}") for name, number in counts.items())
    yield Table(f"Edits of {result['n']:,} traces.", ("", "edits"), rows, result["command"])
    reach = result["traces"]["reach"]
    yield Table(
        f"The texts of {result['traces']['all_executed']:,} traces with every edit executed: as the edits stand, and "
        "with rewrites joined to the text around them.",
        ("text", "as they stand", "joined"),
        tuple((REACHED[name], f"{reach['verbatim'][name]:,}", f"{reach['tidied'][name]:,}") for name in REACHED),
    )
    yield Table.of(
        "Traces whose stored text differs by more than spaces: places of difference at an executed edit, and "
        "elsewhere, where the text was changed without an edit.",
        result["not_reached"],
        {
            "record": lambda row: str(row["record"]),
            "differs in": "differs_in",
            "at edits": lambda row: str(row["at_edits"]),
            "elsewhere": lambda row: str(row["elsewhere"]),
            "refused": lambda row: ", ".join(f"{number} {reason}" for reason, number in row["refused"].items()) or "-",
        },
    )
    if result.get("sensitivity"):
        yield from _sensitivity_tables(result)


def _sensitivity_tables(result: Json) -> Iterator[Table]:
    sensitivity = result["sensitivity"]
    whole = sensitivity["traces_change"] or {"median": None, "raised": None}
    figures = {
        "median change by an edit": shown(sensitivity["median"], 3, sign=True),
        "mean change by an edit": shown(sensitivity["mean"], 3, sign=True),
        "edits that raise the score": shown(sensitivity["raised"], 2),
        "rank correlation with the change in words": shown(sensitivity["with_words"], 2, sign=True),
        "median change by all edits of a trace": shown(whole["median"], 3, sign=True),
        "traces whose score all edits raise": shown(whole["raised"], 2),
        **{f"quantile {name}": f"{value:+.3f}" for name, value in sensitivity["quantiles"].items()},
    }
    yield Table(
        f"{result['scorer']} after each of {sensitivity['n']:,} edits of {sensitivity['traces']:,} traces, executed "
        f"one after another; the paper prints a median of {sensitivity['printed_median']:+g} for its model. 95% "
        f"intervals by bootstrap over {'traces' if sensitivity['traces'] > 1 else 'edits'}.",
        ("figure", "value"),
        tuple(figures.items()),
        result["command"],
    )
    yield Table.of(
        "The same by category.",
        sensitivity["categories"],
        {"category": "category", "edits": "n", "median change": interval("median", sign=True)},
    )


def edits_figure(result: Json) -> Figure:
    """Draw the distribution of the change by an edit, and the change from the draft as edits are executed."""
    sensitivity = result["sensitivity"]
    figure, ((single, gradual),) = canvas(1, 2, (9.6, 3.4))
    edges, counts = sensitivity["histogram"]["edges"], sensitivity["histogram"]["counts"]
    single.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=BLUE)
    single.axvline(sensitivity["median"]["value"], color=ORANGE, lw=1.2)
    single.set(xlabel="change of the score by one edit; the line is the median", ylabel="edits")
    rows = sensitivity["by_edits"]
    numbers = [row["edits"] for row in rows]
    quarters = [row["quarter"] for row in rows], [row["three_quarters"] for row in rows]
    gradual.fill_between(numbers, *quarters, color=GREY, alpha=0.6, lw=0)
    gradual.plot(numbers, [row["median"] for row in rows], "o-", color=BLUE, ms=4, lw=1)
    gradual.axhline(0, color=GREY, lw=0.8)
    gradual.xaxis.get_major_locator().set_params(integer=True)
    gradual.set(xlabel="edits executed (fewer traces have many)", ylabel="change from the draft (quartiles)")
    return figure
