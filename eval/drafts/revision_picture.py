"""The picture of ``pearl eval revision``: what revising the requests below each possible theta changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eval.drafts.comparison import MACRO_F1, METRICS
from eval.drafts.revision import NONE, SELECTIVE
from eval.report.pictures import BLUE, GREY, ORANGE, Json, panels
from pearl.errors import InputError
from pearl.theta import theta_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def check_metric(name: str, *, stances: bool) -> None:
    """Raises InputError for one that is not measured."""
    known = [metric.name for metric in METRICS if stances or metric.name != MACRO_F1]
    if name not in known:
        raise InputError(f"--metric {name}: there are {', '.join(known)}; --stances adds {MACRO_F1}.", param="metric")


def curves_figure(metric: str, result: Json) -> Figure:
    """A panel a model: the paired difference from no revision over the share revised, with its 95% interval."""
    return panels(result["models"], (partial(_draw_curve, metric),), _theta)


def _theta(model: Json) -> str:
    return f"theta = {theta_words(model['threshold'], 2)}"


def _draw_curve(metric: str, axes: Axes, model: Json) -> None:
    points = [
        (point["share_revised"]["value"], difference[metric])
        for point in model["curve"]
        for difference in point["differences"]
        if difference["against"] == NONE and difference[metric] is not None
    ]
    shares = [share for share, _ in points]
    value, low, high = ([gap[name] for _, gap in points] for name in ("value", "low", "high"))
    axes.axhline(0.0, color=GREY, lw=0.8, zorder=0)
    axes.fill_between(shares, low, high, color=BLUE, alpha=0.25, lw=0)
    axes.plot(shares, value, color=BLUE, lw=1.5)
    if model["threshold"] is not None:
        chosen = next(row for row in model["policies"] if row["policy"] == SELECTIVE)
        axes.axvline(chosen["share_revised"]["value"], color=ORANGE, ls="--", lw=1)
    axes.set_xlabel("share of drafts revised")
    title = next(shown.title for shown in METRICS if shown.name == metric)
    axes.set_ylabel(f"{title}, less that of no revision")
