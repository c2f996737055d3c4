"""Pictures of result files: what is drawn is in the file, so that it can be drawn again without scoring again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pearl.errors import InputError
from pearl.options import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Json = Mapping[str, Any]

FORMATS = (".svg", ".png")
HISTOGRAM_BINS = 20
BLUE, GREY = "#3b6ea5", "#c9c9c9"
# the same file for the same figures, and text that stays text
STYLE: dict[Any, str] = {"svg.hashsalt": "pearl", "svg.fonttype": "none", "font.family": "sans-serif"}


def check_format(path: Path | None) -> None:
    if path is not None and path.suffix not in FORMATS:
        raise InputError(f"--picture {path}: a picture ends in {' or '.join(FORMATS)}.", param="picture")


def distribution(values: ArrayLike) -> dict[str, list[float]]:
    """How many values fall between one edge and the next."""
    counts, edges = np.histogram(values, bins=HISTOGRAM_BINS)
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def draw_distributions(result: Json, path: Path) -> None:
    """The best scores s1 of every model."""
    draw_panels(result["models"], (_draw_distribution,), path)


def draw_reliability(result: Json, path: Path) -> None:
    """The mean gain of each bin over its mean s1, with the distribution of s1 below."""
    draw_panels(result["models"], (_draw_bins, _draw_distribution), path)


def _draw_bins(axes: Axes, model: Json) -> None:
    rows = model["reliability"]
    gains = [row["gain"]["value"] for row in rows]
    below = [row["gain"]["value"] - row["gain"]["low"] for row in rows]
    above = [row["gain"]["high"] - row["gain"]["value"] for row in rows]
    axes.errorbar([row["s1"]["value"] for row in rows], gains, yerr=(below, above), fmt="o-", color=BLUE, ms=4, lw=1)
    axes.axhline(0.0, color=GREY, lw=0.8, zorder=0)
    axes.set_ylabel("gain of the document chosen (nats)")


def _draw_distribution(axes: Axes, model: Json) -> None:
    counts, edges = model["s1"]["counts"], model["s1"]["edges"]
    axes.stairs(counts, edges, fill=True, color=BLUE)
    axes.set_xlabel("best score s1")
    axes.set_ylabel("requests")


def _correlation(model: Json) -> str:
    r = model["pearson_r"]
    return f"r = {'-' if r is None else format(r['value'], '.2f')}"


def draw_panels(
    models: Sequence[Json],
    rows: Sequence[Callable[[Axes, Json], None]],
    path: Path,
    said: Callable[[Json], str] = _correlation,
) -> None:
    """A column a model, with what is ``said`` of it, a row a way of drawing it."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.2 * len(models), 2.8 * len(rows)), layout="constrained")
        grid = figure.subplots(len(rows), len(models), squeeze=False, sharex="col", sharey="row")
        for way, line in zip(rows, grid, strict=True):
            for model, axes in zip(models, line, strict=True):
                way(axes, model)
                axes.spines[["top", "right"]].set_visible(False)
                axes.label_outer()
        for model, axes in zip(models, grid[0], strict=True):
            axes.set_title(f"{model['model']}\n{said(model)}", fontsize=10)
        save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Raises InputError when the file cannot be written."""
    with writing(f"--picture {path}"):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
