"""A picture for docs/judging.md: how often the intervals of corrected rates hold the true rate, simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from svg_pictures import Bar, intervals_picture

from eval.report.tables import Json
from eval.stats.proportions import wilson_json

RESULT = Path(__file__).resolve().parent / "results" / "corrected.json"
PICTURED = 100  # labels


def read_corrected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return found


def corrected_picture() -> str:
    result = read_corrected()
    bars = [
        Bar(f"{title}, {row['labels']} labels", _held(row, name), own=name in ("corrected", "prediction_powered"))
        for row in _drawn(result)
        if row["labelled"] == PICTURED
        for name, title in result["ways"].items()
        if name != "plain_bootstrap"
    ]
    return intervals_picture(f"judges whose 95% interval holds the true rate, {PICTURED} labelled items", bars, 3)


def _drawn(result: Json) -> list[Json]:
    return [row for row in result["coverages"] if row["judge"] == "drawn"]


def _held(row: Json, name: str) -> Json:
    """The coverage with Wilson's interval over the judges."""
    number = row["judges"] - row["label_missing"] - (row["no_correction"] if name == "corrected" else 0)
    interval = wilson_json(round(row["coverage"][name] * number), number)
    assert interval is not None
    return interval
