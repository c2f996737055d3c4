"""Agreement of raters as tables."""

from __future__ import annotations

from collections.abc import Iterator

from eval.report.tables import Columns, Json, Table, interval, missing_words, shown
from eval.stats.agreement import TITLES


def agreement_tables(result: Json) -> Iterator[Table]:
    rows = tuple(
        (
            title,
            shown(result["coefficients"][name], 3),
            result["bands"].get(name) or result["undefined"].get(name, ""),
            str(result["items_used"][name]),
        )
        for name, title in TITLES.items()
    )
    caption = (
        f"{result['n']:,} ratings of {result['items']:,} items by {len(result['raters'])} raters"
        f"{missing_words(result['missing'])}; 95% intervals by bootstrap over items; bands of Landis and Koch."
    )
    yield Table(caption, ("coefficient", "value", "band", "items"), rows, result["command"])
    if result["pairs"]:
        columns: Columns = {
            "raters": lambda pair: f"{pair['rater']}, {pair['against']}",
            "items": lambda pair: str(pair["items"]),
            "raw agreement": "agreement",
            "Cohen's kappa": interval("cohen_kappa"),
            "band": lambda pair: pair["band"] or pair["reason"] or "",
        }
        yield Table.of("Pair by pair.", result["pairs"], columns)
