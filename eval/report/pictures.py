"""Pictures of result files: what is drawn is in the file, so that it can be drawn again without scoring again."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from eval.report.tables import Json
from pearl.cli.options import writing
from pearl.errors import InputError
from pearl.extras import MissingExtra
from pearl.files.whole import replaced_file
from pearl.stats.bootstrap import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[[Json], "Figure"]

FORMATS = (".svg", ".png")
ORANGE = "#d98c3f"
BLUE, GREY = "#3b6ea5", "#c9c9c9"
# the same file for the same figures, and text that stays text
STYLE: dict[Any, str] = {"svg.hashsalt": "pearl", "svg.fonttype": "none", "font.family": "sans-serif"}


LACKING = re.compile(r"Glyph (\d+) .* missing from")


def check_format(path: Path | None) -> None:
    if path is not None and path.suffix not in FORMATS:
        raise InputError(f"--picture {path}: a picture ends in {' or '.join(FORMATS)}.", param="picture")


def check_installed() -> None:
    """Raises MissingExtra without the library that draws."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", "eval")


def canvas(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, Any]:
    """A figure of ``size``, in inches, and its axes, (rows, columns), without a frame above them and to the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, grid


def values_and_reaches(intervals: Iterable[Json]) -> tuple[Floats, tuple[Floats, Floats]]:
    """The values of intervals, and how far each reaches below and above: as error bars take them."""
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
    """Draw a column for each model, with its ``label``, and a row for each way of drawing."""
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
    """Draw a result into a file. Raises InputError when the file cannot be written."""
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with _style(path.suffix), writing(f"--picture {path}"), replaced_file(path) as partial:
        figure(result).savefig(partial, format=path.suffix.removeprefix("."), metadata=metadata)


def svg(figure: Draw, result: Json) -> str:
    """The picture as an element of a page."""
    buffer = StringIO()
    with _style(".svg"):
        figure(result).savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]


@contextmanager
def _style(suffix: str) -> Iterator[None]:
    """Draw in our style. Warn of letters that the font lacks: a .png shows boxes for them, an .svg has the text
    itself."""
    import matplotlib

    with matplotlib.rc_context(STYLE), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield
    lacking = [letter[1] for warning in warned if (letter := LACKING.match(str(warning.message)))]
    if lacking and suffix == ".png":
        letters = "".join(dict.fromkeys(chr(int(number)) for number in lacking))
        typer.echo(
            f"No font here has {letters}: the picture shows boxes instead; as .svg it has the text itself.", err=True
        )
    for warning in warned:
        if not LACKING.match(str(warning.message)):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def intervals_figure(rows: Mapping[str, Mapping[str, Json | None]], measure: str) -> Figure:
    """Draw shares with their intervals: a group of lines for each row, a line for each name that has a figure.
    ``measure`` labels the axis."""
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
