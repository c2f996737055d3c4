"""Request selection measured: the tables of docs/results/selection.json, and a short one for docs/experiments.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.report.render import markdown
from eval.report.tables import Table, shown

RESULT = Path(__file__).resolve().parent / "results" / "selection.json"
LOSSES = {"calibrated": "calibrated loss", "kl": "plain KL"}
Json = Mapping[str, Any]


def selection_table() -> str:
    """The gain and the correlation over all kinds of text, and the difference of the gain by kind."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    rows = []
    for row in result["rows"]:
        every, others = row["kinds"]["all"], [row["kinds"][kind]["top1_gain"] for kind in result["requests"]]
        r = every["pearson_r_with_level" if row["loss"] == "calibrated" else "pearson_r"]
        apart = ["-" if row["share"] == 1 else shown(other["above"], 1, sign=True) for other in others]
        rows.append((_learned(row), _cell(every["top1_gain"], row["share"], 1), *apart, _cell(r, row["share"], 2)))
    learned, asked = result["learned"], sum(result["requests"].values())
    caption = (
        f"Nats, and the difference from all requests; r of the calibrated loss with a level, as it ships. {asked:,} "
        f"requests of test users; learned from {learned['scored']:,} scored requests and {learned['likened']:,} labels "
        f"by likeness; the mean of {len(result['seeds'])} seeds."
    )
    return markdown(Table(caption, ("", "gain", *result["requests"], "r"), tuple(rows))).rstrip()


def _learned(row: Json) -> str:
    share = "all requests" if row["share"] == 1 else "two thirds, as published"
    return f"{LOSSES[row['loss']]}, {share}"


def _cell(figure: Json, share: float, digits: int) -> str:
    own = shown(figure["value"], digits)
    return own if share == 1 else f"{own} ({shown(figure['above'], digits, sign=True)})"
