"""Pictures of judges: certainty and how often it is right, reliability, risk and coverage; agreement pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eval.report.pictures import BLUE, GREY, ORANGE, Json

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN_NAME = 34  # characters of a file's name


def personalized_figure(result: Json) -> Figure:
    """A column a file; one without certainties says so."""
    from matplotlib.figure import Figure

    files: Sequence[Json] = result["files"]
    figure = Figure(figsize=(3.4 * len(files), 8.0), layout="constrained")
    grid = figure.subplots(3, len(files), squeeze=False, sharex="row")
    for file, column in zip(files, grid.T, strict=True):
        for way, axes in zip((_certainties, _reliability, _risk), column, strict=True):
            axes.spines[["top", "right"]].set_visible(False)
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
    """Wrong answers upon right ones, with the accuracy of each bin above."""
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
    value, low, high = ([row["interval"][name] for row in rows] for name in ("value", "low", "high"))
    errors = ([a - b for a, b in zip(value, low, strict=True)], [a - b for a, b in zip(high, value, strict=True)])
    axes.plot((0, 100), (0, 1), color=GREY, lw=0.8, zorder=0)
    axes.errorbar([row["certainty"] for row in rows], value, yerr=errors, fmt="o-", color=BLUE, ms=4, lw=1)
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
