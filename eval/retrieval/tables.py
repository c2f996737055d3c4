"""Results of ``pearl eval retrieval`` and ``pearl eval calibration`` as tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from eval.report.pictures import BLUE, GREY, panels, values_and_reaches
from eval.report.tables import Json, Table, caption_of, differences_table, figures_table, pairs_tables, shown
from eval.retrieval import calibration
from eval.retrieval import report as retrieval
from pearl.stats.proportions import DIGITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def retrieval_tables(result: Json) -> Iterator[Table]:
    """All requests, against the best baselines, model against model, the near-duplicates set aside, the slices."""
    yield figures_table(result, retrieval.METRICS)
    yield differences_table(result, retrieval.METRICS)
    yield from pairs_tables(result)
    aside = result["near_duplicates"]
    if aside["n"]:
        yield figures_table(result, retrieval.METRICS, aside)
        yield differences_table(result, retrieval.METRICS, aside)
    yield from slices_tables(result)


def calibration_tables(result: Json) -> Iterator[Table]:
    """All requests, against the best baselines, the bins of each model, and the near-duplicates set aside."""
    yield figures_table(result, calibration.METRICS)
    yield differences_table(result, calibration.COMPARED)
    yield from (reliability_table(result, row) for row in result["models"])
    aside = result["near_duplicates"]
    if aside["n"]:
        yield figures_table(result, calibration.METRICS, aside)
        yield differences_table(result, calibration.COMPARED, aside)


def slices_tables(result: Json) -> Iterator[Table]:
    """The top-1 gain, a column a slice."""
    column = retrieval.METRICS[0]
    for by in dict.fromkeys(part["by"] for part in result["slices"]):
        parts = [part for part in result["slices"] if part["by"] == by]
        columns = [f"{part['low']} to {part['high']} (n = {part['n']})" for part in parts]
        rows = [
            (cells[0]["model"], *(shown(cell[column.name], column.digits) for cell in cells))
            for cells in zip(*((*part["models"], *part["baselines"]) for part in parts), strict=True)
        ]
        caption = f"{column.title.capitalize()} by {by.replace('_', ' ')}. {caption_of(result)}"
        yield Table(caption, ("model", *columns), tuple(rows), result["command"])


def reliability_table(result: Json, model: Json) -> Table:
    """A row a bin of a model, the lowest s1 first."""
    rows = [
        (f"{row['low']:.2f} to {row['high']:.2f}", str(row["n"]), shown(row["s1"], 2), shown(row["gain"], 1))
        for row in model["reliability"]
    ]
    caption = f"{model['model']}: requests by their best score. {caption_of(result)}"
    return Table(caption, ("s1", "n", "mean s1", "mean gain"), tuple(rows), result["command"])


HISTOGRAM_BINS = 20


def distribution(values: ArrayLike) -> dict[str, list[float]]:
    """A histogram: edges, and the number of values between each and the next."""
    counts, edges = np.histogram(values, bins=HISTOGRAM_BINS)
    return {"edges": edges.round(DIGITS).tolist(), "counts": counts.tolist()}


def distributions_figure(result: Json) -> Figure:
    """The best scores s1 of every model."""
    return panels(result["models"], (_draw_distribution,))


def reliability_figure(result: Json) -> Figure:
    """The mean gain of each bin over its mean s1, with the distribution of s1 below."""
    return panels(result["models"], (_draw_bins, _draw_distribution))


def _draw_bins(axes: Axes, model: Json) -> None:
    rows = model["reliability"]
    gains, reaches = values_and_reaches(row["gain"] for row in rows)
    axes.errorbar([row["s1"]["value"] for row in rows], gains, yerr=reaches, fmt="o-", color=BLUE, ms=4, lw=1)
    axes.axhline(0.0, color=GREY, lw=0.8, zorder=0)
    axes.set_ylabel("gain of the document chosen (nats)")


def _draw_distribution(axes: Axes, model: Json) -> None:
    counts, edges = model["s1"]["counts"], model["s1"]["edges"]
    axes.stairs(counts, edges, fill=True, color=BLUE)
    axes.set(xlabel="best score s1", ylabel="requests")
