"""A report on pairs: the figures of a comparison, trait against trait, and a page that shows them with their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.recorded.forensics.comparison import ColumnOptions, columns_of, compared
from eval.recorded.forensics.examples import examples_of
from eval.recorded.forensics.forensics_page import forensics_page
from eval.recorded.forensics.pairs import TRAIT
from eval.recorded.forensics.trait_pairs import trait_pairs
from eval.recorded.forensics.votes import read_votes
from eval.report.head import Head

IN_HEATMAP = 5  # strongest traits, and as many of the weakest


def reported(
    paths: Sequence[Path], options: ColumnOptions, head: Head, examples: int, title: str
) -> tuple[dict[str, Any], str]:
    """The figures and the page. Raises InputError where a file cannot be read, or a column has nothing to compare."""
    columns = columns_of([(str(path), read_votes(path)) for path in paths], options, least=1)
    figures = {**head.to_json(), **compared(columns, options.resampling)}
    first = columns[0]
    places = first.table.places
    rows = [row for row in figures["annotators"] if row["columns"][0] and row["type"] == TRAIT]
    rows.sort(key=lambda row: -row["columns"][0]["strength"]["value"])
    ends = rows if len(rows) <= 2 * IN_HEATMAP else [*rows[:IN_HEATMAP], *rows[-IN_HEATMAP:]]
    figures["trait_pairs"] = trait_pairs(first.table, options.resampling, [places[row["id"]] for row in ends])
    shown = examples_of(columns, [row["id"] for row in figures["annotators"]], examples)
    return figures, forensics_page(figures, shown, title)
