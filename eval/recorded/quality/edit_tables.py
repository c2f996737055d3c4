"""The tables and the picture of ``pearl eval edits``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from eval.recorded.quality.edit_traces import MARKS, SAME, SPACES, WORDS
from eval.report.pictures import BLUE, GREY, ORANGE, canvas
from eval.report.tables import Json, Table, interval, shown
from pearl.editing.edits import REASONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REACHED = {
    SAME: "the stored text, character by character",
    SPACES: "the stored text, but for spaces",
    MARKS: "its words, with other marks or capitals",
    WORDS: "other words",
}


def edit_tables(result: Json) -> Iterator[Table]:
    """Tables of the edits that were executed, those that were not and why, and the change of the score with each."""
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
    """The distribution of the change by an edit, and the change from the draft as edits are executed."""
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
