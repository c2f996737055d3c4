"""Drawing pictures from a result's JSON alone, so that nothing is computed again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eval.report.tables import Json
from pearl.cli.options import write_text
from pearl.stats.bootstrap import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[[Json], "Figure"]

ORANGE = "#d98c3f"
BLUE, GREY = "#3b6ea5", "#c9c9c9"
# the same file for the same figures, and text that stays text
STYLE: dict[Any, str] = {"svg.hashsalt": "pearl", "svg.fonttype": "none", "font.family": "sans-serif"}


def canvas(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, Any]:
    """Make a figure of ``size`` inches and its axes, (rows, columns), without top and right borders."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, grid


def values_and_reaches(intervals: Iterable[Json]) -> tuple[Floats, tuple[Floats, Floats]]:
    """The values of intervals, and their distances to both ends, in the form that error bars need."""
    drawn = list(intervals)
    value, low, high = (np.array([interval[end] for interval in drawn]) for end in ("value", "low", "high"))
    return value, (np.abs(low - value), np.abs(high - value))


def _correlation(model: Json) -> str:
    r = model["pearson_r"]
    return f"r = {'-' if r is None else format(r['value'], '.2f')}"


def panels(
    models: Sequence[Json],
    rows: Sequence[Callable[[Axes, Json], None]],
    label: Callable[[Json], str] = _correlation,
) -> Figure:
    """Draw a grid: a column for each model, titled with its name and ``label``, and a row for each function in
    ``rows``, which draws a model on axes."""
    size = 3.2 * len(models), 2.8 * len(rows)
    figure, grid = canvas(len(rows), len(models), size, sharex="col", sharey="row")
    for way, line in zip(rows, grid, strict=True):
        for model, axes in zip(models, line, strict=True):
            way(axes, model)
            axes.label_outer()
    for model, axes in zip(models, grid[0], strict=True):
        axes.set_title(f"{model['model']}\n{label(model)}", fontsize=10)
    return figure


def draw(figure: Draw, result: Json, path: Path) -> None:
    """Draw a result and write it as an SVG file. Raises InputError when the file cannot be written."""
    write_text("--picture", path, svg(figure, result))


def svg(figure: Draw, result: Json) -> str:
    """Draw a result as an SVG element. Characters that the fonts here lack stay text."""
    import matplotlib

    buffer = StringIO()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure(result).savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]


def intervals_figure(rows: Mapping[str, Mapping[str, Json | None]], measure: str) -> Figure:
    """Draw shares with their intervals: in each of ``rows`` a line for each name. ``measure`` labels the axis."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    figure, ((axes,),) = canvas(1, 1, (6.4, 0.9 + 0.9 * len(rows)))
    for step, name in enumerate(names):
        shift = 0.18 * (step - (len(names) - 1) / 2)
        drawn = {y + shift: interval for y, row in enumerate(rows.values()) if (interval := row.get(name))}
        middle, reaches = values_and_reaches(drawn.values())
        axes.errorbar(middle, list(drawn), xerr=reaches, fmt="o", markersize=4, label=name)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel=f"{measure}, 95% interval")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure
