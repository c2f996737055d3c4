"""Tables and a picture for docs/judging.md: what corrected rates and thresholds are worth, simulated and seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from svg_pictures import Bar, intervals_picture

from eval.report.tables import NOTHING, Json, Table, shown
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


def coverage_table(result: Json, names: Sequence[str]) -> Table:
    """Judges drawn at random, by the number of labels."""
    rows = tuple(
        (
            f"{row['labelled']} labelled items, {row['labels']} labels",
            *(f"{row['coverage'][name]:.3f}" for name in names),
            f"{row['no_correction']:,}",
        )
        for row in _drawn(result)
    )
    caption = (
        f"Coverage of 95% intervals over {result['coverages'][0]['judges']:,} judges a row, drawn at random: rates "
        "from 0.1 on, right from 65% to 97% of the time (60% to 95% of three labels)."
    )
    return Table(caption, ("", *(result["ways"][name] for name in names), "no correction possible"), rows)


def promise_table(result: Json) -> Table:
    rows = tuple(
        (
            row["description"],
            f"{row['labelled']:,}",
            f"{row['broken']:.3f}",
            f"{row['found']:.3f}",
            NOTHING if row["coverage"] is None else f"{row['coverage']:.2f}",
        )
        for row in result["promises"]
    )
    first = result["promises"][0]
    caption = (
        f"Promise: an error of at most {result['risk']:g} with confidence {result['confidence']:g}, so broken "
        f"in at most {1 - result['confidence']:.2f} of the {first['calibrations']:,} calibrations of a row. Coverage: "
        "the share answered, where a threshold was found."
    )
    return Table(caption, ("the judge is", "labels", "broken", "threshold found", "coverage"), rows)


def trust_table(result: Json) -> Table:
    """The threshold of certainty of each recording, for two risks, by all its labels."""
    rows = tuple(
        (
            _short(row["file"]),
            shown(row["trusted"]["0.1"]["error_of_all"], 3),
            *(_threshold(row["trusted"][risk]) for risk in ("0.1", "0.05")),
        )
        for row in result["recordings"]
    )
    caption = f"Certainty from which on the error is at most 0.1, or 0.05, with confidence {result['confidence']:g}."
    return Table(caption, ("file", "error of all", "at most 0.1", "at most 0.05"), rows)


def _threshold(found: Json) -> str:
    if found["threshold"] is None:
        return f"none: {found['reason']}"
    return f"{found['threshold']:g} or more: {found['coverage']['value']:.0%} answered, bound {found['bound']:.3f}"


def _short(file: str) -> str:
    return file.removesuffix(".gz").removesuffix(".jsonl")
