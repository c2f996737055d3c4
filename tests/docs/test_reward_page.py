"""The figures of the reward model in the docs are those of the result file."""

from __future__ import annotations

import json
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_features_tell_the_measured_accuracy():
    found = json.loads((DOCS / "results" / "quality.json").read_text(encoding="utf-8"))["intervals"]["accuracy"]
    shown = f"decides {found['value']:.0%} [{found['low']:.0%}, {found['high']:.0%}] of"
    assert shown in (DOCS / "features.md").read_text(encoding="utf-8")
