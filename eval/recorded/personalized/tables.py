"""Results of ``pearl eval personalized`` as tables, and as a picture: certainty and how often it is right, reliability,
risk and coverage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eval.report.pictures import BLUE, GREY, ORANGE, canvas, values_and_reaches
from eval.report.tables import Columns, Json, Table, shown
from pearl.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BASELINES: Columns = {
    "answer": lambda row: f"{row['name']}: {row['description']}",
    "accuracy": "interval",
    "the judge's less it": "difference",
    "p (McNemar, Holm)": lambda row: f"{row['p_holm']:.3g}",
}
FINDINGS: Columns = {
    "check": "check",
    "": "level",
    "records": lambda finding: str(finding["count"]),
    "finding": "message",
}


def personalized_tables(result: Json) -> Iterator[Table]:
    """Yield tables of all files, of the judge beside baselines that need no judge, and of faults in the records."""
    files, choices = result["files"], result["choices"]
    columns: Columns = {
        "file": _name,
        "records": lambda file: str(file["n"]),
        "right": lambda file: _counts({"correct": file["correct"], "total": file["counted"]}),
        "accuracy": partial(_interval, "accuracy"),
        f"certainty {result['threshold']:g} or more": lambda file: f"{_interval('high', file)} {_counts(file['high'])}",
        "the others": lambda file: f"{_interval('low', file)} {_counts(file['low'])}",
        "with an answer only": lambda file: shown(file["accuracies"]["invalid_dropped"]["interval"], 3),
    }
    caption = (
        f"Preset {result['preset']}: reading {choices['reading']}, without an answer {choices['unparsed']}. "
        "Wilson's 95% intervals."
    )
    yield Table.of(caption, files, columns, result["command"])
    figures = {"AUROC": "auroc", "Brier": "brier", "ECE": "ece", "AURC": "aurc", "r": "certainty_correlation"}
    columns = {"file": _name, **{title: partial(_interval, name) for title, name in figures.items()}}
    columns |= {"takes the first": partial(_rate, "first"), "takes the longer": partial(_rate, "longer")}
    over = " or ".join(sorted({file["resampled"] for file in files if "resampled" in file})) or "personas"
    caption = f"Whether certainty says what is right: 95% intervals by bootstrap over {over}. Then the judge's habits."
    yield Table.of(caption, files, columns)
    yield verdicts_table(files)
    for file in files:
        if file["counted"]:
            caption = f"{_name(file)}: the judge, {file['accuracy']:.3f}, less what needs no judge."
            yield Table.of(caption, file["baselines"], BASELINES)
        if file["preflight"]:
            yield Table.of(f"{_name(file)}: what is wrong with the records.", file["preflight"], FINDINGS)


def sweep_tables(result: Json) -> Iterator[Table]:
    """Yield tables of accuracy and coverage when the judge abstains below other thresholds."""
    columns: Columns = {
        "certainty at least": lambda row: f"{row['threshold']:g}",
        "right": _counts,
        "accuracy": "interval",
        "coverage": lambda row: f"{row['coverage']:.1%}",
    }
    for file in result["files"]:
        if file.get("sweep"):
            yield Table.of(f"{_name(file)}: abstaining below a threshold.", file["sweep"], columns)


def verdicts_table(files: Sequence[Json]) -> Table:
    kinds = [kind for kind in files[0]["verdicts"] if any(file["verdicts"][kind] for file in files)]
    titles = ("no certainty", "raw replies", "read otherwise", "certainty otherwise", "acc otherwise")
    rows = []
    for file in files:
        reread = file["reread"]
        otherwise = (len(reread[field]) for field in ("answer", "certainty", "acc"))
        counts = (*map(file["verdicts"].get, kinds), file["without_certainty"], reread["raw_replies"], *otherwise)
        rows.append((_name(file), *map(str, counts)))
    caption = "What became of every record, and where our parser and the recorded fields differ."
    return Table(caption, ("file", *kinds, *titles), tuple(rows))


def _name(file: Json) -> str:
    return Path(file["file"]).name


def _interval(name: str, file: Json) -> str:
    return shown(file.get("intervals", {}).get(name), 3)


def _counts(part: Json) -> str:
    return f"{part['correct']:g}/{part['total']}"


def _rate(name: str, file: Json) -> str:
    return shown(file["preferences"][name]["judge"] if "preferences" in file else None, 2)


SHOWN_NAME = 34  # characters of a file's name


def personalized_figure(result: Json) -> Figure:
    """Draw a column for each file; one without certainties says so. Raises InputError where there is no file."""
    if not result["files"]:
        raise InputError("--picture and --report draw judges; give their --records.", param="records")
    files: Sequence[Json] = result["files"]
    figure, grid = canvas(3, len(files), (3.4 * len(files), 8.0), sharex="row")
    for file, column in zip(files, grid.T, strict=True):
        for way, axes in zip((_certainties, _reliability, _risk), column, strict=True):
            if file.get("histogram"):
                way(axes, file, result["threshold"])
            else:
                axes.text(0.5, 0.5, "no certainty", ha="center", va="center", transform=axes.transAxes)
        accuracy = "-" if file["accuracy"] is None else format(file["accuracy"], ".3f")
        name = Path(file["file"]).name.removesuffix(".gz").removesuffix(".jsonl")
        short = name if len(name) <= SHOWN_NAME else "..." + name[-SHOWN_NAME:]
        column[0].set_title(f"{short}\naccuracy {accuracy}", fontsize=8)
    return figure


def _certainties(axes: Axes, file: Json, threshold: float) -> None:
    """Draw right and wrong answers by certainty, with the accuracy of each bin above."""
    rows = [row for row in file["histogram"] if row["total"]]
    at = [row["low"] + 2.5 for row in rows]
    right = [row["correct"] for row in rows]
    axes.bar(at, right, width=4.5, color=BLUE, label="right")
    axes.bar(at, [row["total"] - row["correct"] for row in rows], 4.5, bottom=right, color=ORANGE, label="wrong")
    for x, row in zip(at, rows, strict=True):
        axes.text(x, row["total"], f"{row['accuracy']:.2f}", ha="center", va="bottom", fontsize=6)
    axes.axvline(threshold, color=GREY, ls="--", lw=1)
    axes.set_xlabel("certainty")
    axes.set_ylabel("records")
    axes.legend(frameon=False, fontsize=7, loc="upper left")


def _reliability(axes: Axes, file: Json, threshold: float) -> None:
    rows = file["reliability"]
    shares, reaches = values_and_reaches(row["interval"] for row in rows)
    axes.plot((0, 100), (0, 1), color=GREY, lw=0.8, zorder=0)
    axes.errorbar([row["certainty"] for row in rows], shares, yerr=reaches, fmt="o-", color=BLUE, ms=4, lw=1)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("certainty")
    axes.set_ylabel("accuracy")


def _risk(axes: Axes, file: Json, threshold: float) -> None:
    points = file["risk_coverage"]
    coverage, risk = ([point[name] for point in points] for name in ("coverage", "risk"))
    axes.plot(coverage, risk, "o-", color=BLUE, ms=3, lw=1)
    axes.axhline(1 - file["accuracy"], color=GREY, lw=0.8, zorder=0)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("coverage (answers at least so certain)")
    axes.set_ylabel("risk (share of them wrong)")
