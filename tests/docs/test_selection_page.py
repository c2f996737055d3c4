"""What request selection changes: every figure beside its difference from all requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import selection_page


def of(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 1, "high": value + 1}


def row(loss: str, share: float, gain: float) -> dict[str, Any]:
    figures = {
        "top1_gain": {"value": of(gain), "above": of(gain - 16)},
        "pearson_r": {"value": of(0.25), "above": of(0.0)},
        "pearson_r_with_level": {"value": of(0.5), "above": of(0.0)},
    }
    return {"loss": loss, "share": share, "kinds": dict.fromkeys(("all", "lean", "git"), figures)}


RESULT = {
    "learned": {"scored": 5000, "likened": 14000},
    "requests": {"lean": 700, "git": 400},
    "seeds": [0, 1],
    "rows": [row("calibrated", 1.0, 16.0), row("kl", 1.0, 16.0), row("calibrated", 0.667, 15.5), row("kl", 0.667, 14)],
}


def test_each_share_stands_beside_all_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "selection.json").write_text(json.dumps(RESULT))
    monkeypatch.setattr(selection_page, "RESULT", tmp_path / "selection.json")
    lines = selection_page.selection_table().splitlines()
    assert "| calibrated loss, all requests | 16.0 [15.0, 17.0] | - | - | 0.50 [-0.50, 1.50] |" in lines
    apart = "-0.5 [-1.5, +0.5]"
    r = "0.50 [-0.50, 1.50] (+0.00 [-1.00, +1.00])"
    published = f"| calibrated loss, two thirds, as published | 15.5 [14.5, 16.5] ({apart}) | {apart} | {apart} | {r} |"
    assert published in lines
    assert any(
        line.startswith("| plain KL, two thirds, as published | 14.0 [13.0, 15.0] (-2.0 [-3.0, -1.0])")
        for line in lines
    )
    assert "1,100 requests of test users; learned from 5,000 scored requests and 14,000 labels" in lines[-1]
