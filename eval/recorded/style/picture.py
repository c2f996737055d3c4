"""The picture of ``pearl eval style``: how far every two judges, and people, agree; a panel a scheme."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from eval.report.pictures import Json, agreement_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS = 4  # panels


def style_figure(result: Json) -> Figure:
    """Randolph's kappa of the labels."""
    from matplotlib.figure import Figure

    panels: Sequence[Json] = result["agreement"]
    across = max(1, min(ACROSS, len(panels)))
    down = max(1, ceil(len(panels) / across))
    most = max((len(panel["raters"]) for panel in panels), default=1)
    size = 1.8 + 0.5 * most
    figure = Figure(figsize=(size * across + 1.0, size * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place < len(panels):
            image = agreement_panel(axes, panels[place], "randolph_kappa")
            axes.set_title(f"{panels[place]['kind']}: {panels[place]['scheme']}", fontsize=9)
        else:
            axes.set_axis_off()
    if panels:
        figure.colorbar(image, ax=grid, label="Randolph's kappa")
    return figure
