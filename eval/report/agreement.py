"""Agreement of raters as tables."""

from __future__ import annotations

from collections.abc import Iterator

from eval.report.tables import Json, Table, shown
from eval.stats.agreement import TITLES


def agreement_tables(result: Json) -> Iterator[Table]:
    """The coefficients, then every two raters."""
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
        f"{result['n']:,} ratings of {result['items']:,} items by {len(result['raters'])} raters; 95% intervals by "
        "bootstrap over items; bands of Landis and Koch."
    )
    yield Table(caption, ("coefficient", "value", "band", "items"), rows, result["command"])
    if result["pairs"]:
        cells = tuple(
            (
                f"{pair['rater']}, {pair['against']}",
                str(pair["items"]),
                shown(pair["agreement"], 3),
                shown(pair["cohen_kappa"], 3),
                pair["band"] or pair["reason"] or "",
            )
            for pair in result["pairs"]
        )
        yield Table("Pair by pair.", ("raters", "items", "raw agreement", "Cohen's kappa", "band"), cells)
