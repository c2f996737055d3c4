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
    for place, found in enumerate(files):
        for way, axes in zip((_certainties, _reliability, _risk), grid[:, place], strict=True):
            axes.spines[["top", "right"]].set_visible(False)
            if found.get("histogram"):
                way(axes, found, result["threshold"])
            else:
                axes.text(0.5, 0.5, "no certainty", ha="center", va="center", transform=axes.transAxes)
        accuracy = "-" if found["accuracy"] is None else format(found["accuracy"], ".3f")
        grid[0, place].set_title(f"{_short(found['file'])}\naccuracy {accuracy}", fontsize=8)
    return figure


def _short(file: str) -> str:
    name = Path(file).name.removesuffix(".gz").removesuffix(".jsonl")
    return name if len(name) <= SHOWN_NAME else "..." + name[-SHOWN_NAME:]


def _certainties(axes: Axes, found: Json, threshold: float) -> None:
    """Wrong answers upon right ones, with the accuracy of each bin above."""
    rows = [row for row in found["histogram"] if row["total"]]
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


def _reliability(axes: Axes, found: Json, threshold: float) -> None:
    rows = found["reliability"]
    value, low, high = ([row["interval"][name] for row in rows] for name in ("value", "low", "high"))
    errors = ([a - b for a, b in zip(value, low, strict=True)], [a - b for a, b in zip(high, value, strict=True)])
    axes.plot((0, 100), (0, 1), color=GREY, lw=0.8, zorder=0)
    axes.errorbar([row["certainty"] for row in rows], value, yerr=errors, fmt="o-", color=BLUE, ms=4, lw=1)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("certainty")
    axes.set_ylabel("accuracy")


def _risk(axes: Axes, found: Json, threshold: float) -> None:
    points = found["risk_coverage"]
    axes.plot([each["coverage"] for each in points], [each["risk"] for each in points], "o-", color=BLUE, ms=3, lw=1)
    axes.axhline(1 - found["accuracy"], color=GREY, lw=0.8, zorder=0)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("coverage (answers at least so certain)")
    axes.set_ylabel("risk (share of them wrong)")
