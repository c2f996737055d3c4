"""Pictures of best scores: how they are distributed, and whether the gain rises with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eval.report.pictures import BLUE, GREY, Json, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HISTOGRAM_BINS = 20


def distribution(values: ArrayLike) -> dict[str, list[float]]:
    """A histogram: edges, and the number of values between each and the next."""
    counts, edges = np.histogram(values, bins=HISTOGRAM_BINS)
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def distributions_figure(result: Json) -> Figure:
    """The best scores s1 of every model."""
    return panels(result["models"], (_draw_distribution,))


def reliability_figure(result: Json) -> Figure:
    """The mean gain of each bin over its mean s1, with the distribution of s1 below."""
    return panels(result["models"], (_draw_bins, _draw_distribution))


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
