"""Results of ``pearl eval personalized`` as tables, and as a picture of accuracy by certainty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.report.pictures import BLUE, GREY, ORANGE, canvas
from eval.report.tables import Declared, Json, Table, named, rows_tables
from pearl.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OF_FILES: Declared = {
    "certain": (
        "Whether certainty says what is right: 95% intervals by bootstrap. Then the judge's habits.",
        "file resampled intervals.auroc intervals.brier intervals.ece intervals.aurc intervals.certainty_correlation "
        "preferences.first.judge preferences.longer.judge",
    ),
    "files": (
        "What became of every record, and where our parser and the recorded fields differ.",
        "file verdicts without_certainty reread",
    ),
    "baselines": (
        "The judge less what needs no judge: p by McNemar's test with Holm's correction.",
        "file name description interval difference p_holm",
    ),
    "preflight": ("What is wrong with the records.", "file check level count message"),
}
SWEEP: Declared = {
    "sweep": ("Abstaining below a threshold of certainty.", "file threshold correct total interval coverage")
}


def personalized_tables(result: Json) -> Iterator[Table]:
    """Yield tables: the figures of all files, the judge compared with trivial baselines, and faults of the records."""
    choices = result["choices"]
    caption = (
        f"Preset {result['preset']}: reading {choices['reading']}, without an answer {choices['unparsed']}. A "
        f"certainty of {result['threshold']:g} or more is high. Wilson's 95% intervals."
    )
    fields = "file n correct counted intervals.accuracy high.total intervals.high low.total intervals.low"
    columns = named(f"{fields} accuracies.invalid_dropped.interval")
    rows = _rows(result)
    yield Table.of(caption, rows["files"], columns, result["command"])
    yield from rows_tables(rows, OF_FILES)


def sweep_tables(result: Json) -> Iterator[Table]:
    """Yield a table of accuracy and coverage if the judge abstains below each of several thresholds of certainty."""
    yield from rows_tables(_rows(result), SWEEP)


def _rows(result: Json) -> dict[str, list[dict[str, Any]]]:
    """The rows of all files, by the kind of table; files are named without their folders."""
    files = [
        {
            **file,
            "file": Path(file["file"]).name,
            "reread": {name: of if isinstance(of, int) else len(of) for name, of in file["reread"].items()},
        }
        for file in result["files"]
    ]
    rows = {
        name: [{**row, "file": file["file"]} for file in files for row in file.get(name, ())]
        for name in ("baselines", "preflight", "sweep")
    }
    return {"files": files, "certain": [file for file in files if file["counted"]], **rows}


SHOWN_NAME = 34  # characters of a file's name


def personalized_figure(result: Json) -> Figure:
    """Draw the answers of each file by their certainty, one panel per file. Raises InputError if there is no file."""
    files: Sequence[Json] = result["files"]
    if not files:
        raise InputError("--picture and --report draw judges; give their --records.")
    figure, (panels,) = canvas(1, len(files), (3.4 * len(files), 3.0), sharex="row")
    for file, axes in zip(files, panels, strict=True):
        if file.get("histogram"):
            _draw_certainties(axes, file, result["threshold"])
        else:
            axes.text(0.5, 0.5, "no certainty", ha="center", va="center", transform=axes.transAxes)
        accuracy = "-" if file["accuracy"] is None else format(file["accuracy"], ".3f")
        name = Path(file["file"]).name.removesuffix(".gz").removesuffix(".jsonl")
        short = name if len(name) <= SHOWN_NAME else "..." + name[-SHOWN_NAME:]
        axes.set_title(f"{short}\naccuracy {accuracy}", fontsize=8)
    return figure


def _draw_certainties(axes: Axes, file: Json, threshold: float) -> None:
    """Draw the numbers of right and wrong answers by certainty, with the accuracy of each bin above."""
    rows = [row for row in file["histogram"] if row["total"]]
    at = [row["low"] + 2.5 for row in rows]
    right = [row["correct"] for row in rows]
    axes.bar(at, right, width=4.5, color=BLUE, label="right")
    axes.bar(at, [row["total"] - row["correct"] for row in rows], 4.5, bottom=right, color=ORANGE, label="wrong")
    for x, row in zip(at, rows, strict=True):
        axes.text(x, row["total"], f"{row['accuracy']:.2f}", ha="center", va="bottom", fontsize=6)
    axes.axvline(threshold, color=GREY, ls="--", lw=1)
    axes.set(xlabel="certainty", ylabel="records")
    axes.legend(frameon=False, fontsize=7, loc="upper left")
