"""Results of ``pearl eval retrieval`` and ``pearl eval calibration`` as tables."""

from __future__ import annotations

from collections.abc import Iterator

from eval.report.tables import Json, Table, caption_of, differences_table, figures_table, pairs_tables, shown
from eval.retrieval import calibration
from eval.retrieval import report as retrieval


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


def slices_tables(result: Json, metric: str = "top1_gain") -> Iterator[Table]:
    """One metric, a column a slice."""
    (column,) = (figure for figure in retrieval.METRICS if figure.name == metric)
    for by in dict.fromkeys(part["by"] for part in result["slices"]):
        parts = [part for part in result["slices"] if part["by"] == by]
        columns = [f"{part['low']} to {part['high']} (n = {part['n']})" for part in parts]
        rows = [
            (cells[0]["model"], *(shown(cell[metric], column.digits) for cell in cells))
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
