"""What docs/results/corrected.json promises of corrected rates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
RESULT = json.loads((DOCS / "results" / "corrected.json").read_text(encoding="utf-8"))
DRAWN = [row for row in RESULT["coverages"] if row["judge"] == "drawn"]
WIDE_ENOUGH = [row for row in DRAWN if row["labelled"] >= 50]


@pytest.mark.parametrize("way", ["corrected", "prediction_powered"])
def test_intervals_hold_the_true_rate_as_often_as_they_say(way: str) -> None:
    assert {row["labels"] for row in WIDE_ENOUGH} == {2, 3}
    for row in WIDE_ENOUGH:
        assert row["judges"] == 1000
        assert 0.93 <= row["coverage"][way] <= 0.97
        assert row["coverage"]["raw"] < 0.35


def test_promises_are_broken_seldom() -> None:
    for row in RESULT["promises"]:
        assert row["calibrations"] == 1000
        assert row["broken"] <= 1 - RESULT["confidence"]
    assert max(row["found"] for row in RESULT["promises"]) > 0.9


def test_all_recordings_are_there() -> None:
    assert len(RESULT["recordings"]) == 13
    for row in RESULT["recordings"]:
        assert set(row["trusted"]) == {"0.1", "0.05"}
