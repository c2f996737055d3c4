"""What docs/results/corrected.json promises of corrected rates, and the published figures beside ours."""

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


def test_published_figures_stand_beside_those_of_the_recordings() -> None:
    from published_page import PRINTED, cells

    files = json.loads((DOCS / "results" / "personalized-published.json").read_text(encoding="utf-8"))["files"]
    found = {(cell.judge, cell.figure): cell for cell in cells(files)}
    assert {judge for judge, _ in found} == set(PRINTED)
    assert (found["PR, GPT-4", "the others"].printed, found["PR, GPT-4", "the others"].same) == (
        "0.950 (266/280)",
        "yes",
    )
    assert found["PR, GPT-4", "certainty 80 or more"].same == "the rate"
    assert found["PR, GPT-3.5", "the others"].ours == "0.667 (34/51)"  # 34/52 with the record that was not read
    assert [cell.same for cell in found.values()].count("yes") == 20
    assert [cell.same for cell in found.values()].count("the rate") == 6
    assert len(found) == 29
