"""The table and the picture of cross-encoders, from a result file of two rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cross_encoders_page
import pytest


def row(name: str, value: float, **more: Any) -> dict[str, Any]:
    interval = {"value": value, "low": value - 1, "high": value + 1}
    return {
        "name": name,
        "top1_gain": interval,
        "above_head": {"value": value - 9, "low": value - 10, "high": value - 8},
        "pearson_r": 0.456,
        "domains": {"lean": 4.0, "git": 14.0},
        "better_in": 0.25,
        "cpu_ms": 0.0,
        "memory_mib": 0,
        "carried_mib": 0.0,
    } | more


RESULT = {
    "command": "python it",
    "minutes": 7.0,
    "requests": {"lean": 3, "git": 2},
    "users": 4,
    "candidates": 8,
    "read": 32,
    "random": {"value": 2.0, "low": 1.0, "high": 3.0},
    "groups": {"relevance": 1000, "gains": 160},
    "rows": [
        row("head", 9.0),
        row("MiniLM", 7.5, cpu_ms=123.4, memory_mib=55, carried_mib=21.5),
        row("head and 0.5 MiniLM", 9.5),
        row("RelevanceCE", 5.5),
    ],
    "reading": {"request_words": 48, "relevance_own_requests": True},
    "trainings": [
        {
            "name": "MiniLM",
            "cpu_seconds": 60,
            "relevance": {"steps": 9, "losses": [1.4, 1.2]},
            "gains": {"steps": 20, "losses": [1.9, 1.7, 1.8]},
        },
        {"name": "RelevanceCE", "cpu_seconds": 61, "relevance": {"steps": 40, "losses": [1.4, 0.9]}},
    ],
}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    monkeypatch.setattr(cross_encoders_page, "RESULT", tmp_path / "result.json")
    return cross_encoders_page


def test_every_scorer_is_a_row_with_its_cost(page: Any) -> None:
    lines = page.cross_encoders_table().splitlines()
    assert "| head | 9.0 [8.0, 10.0] | - | 0.46 | 4.0 | 14.0 | - | 0 | 0 | 0.0 |" in lines
    assert "| MiniLM ¹ | 7.5 [6.5, 8.5] | -1.5 [-2.5, -0.5] | 0.46 | 4.0 | 14.0 | 25% | 123 | 55 | 21.5 |" in lines
    assert any(line.startswith("| RelevanceCE ¹ ² | 5.5 ") for line in lines)
    assert any("¹ Made on cut requests: read were the first 48 words. ² Learned from" in line for line in lines)
    assert "| MiniLM | 60 | 9 | 1.4 to 1.2 | 20 | 1.9 to 1.7 |" in lines
    assert "| RelevanceCE | 61 | 40 | 1.4 to 0.9 | - | - |" in lines
    assert any(
        line.startswith("5 requests of 4 users (3 of lean, 2 of git), 8 candidates each, of which one at random")
        for line in lines
    )


def test_the_picture_names_the_costs_of_each_alone(page: Any) -> None:
    picture = page.cross_encoders_picture()
    assert "MiniLM: 123 ms, 55 MiB" in picture
    assert picture.count('class="dot"') == 3
