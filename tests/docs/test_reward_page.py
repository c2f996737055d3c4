"""The figures of reward models in the docs are those of the result files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean

import pytest

from training.reward.choices import REWARD_CHOICES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    """The tables by the page they stand on."""
    sys.path.insert(0, str(DOCS))
    try:
        from reward_page import quality_table, tried_table
    finally:
        sys.path.remove(str(DOCS))
    return {"judging.md": quality_table(), "experiments.md": tried_table()}


def test_the_tables_stand_on_their_pages(tables):
    for page, table in tables.items():
        assert table in (DOCS / page).read_text(encoding="utf-8")
    accuracy = json.loads((DOCS / "results" / "quality.json").read_text(encoding="utf-8"))["intervals"]["accuracy"]
    assert f"| embedded | {accuracy['value']:.2f} [" in tables["judging.md"]


def test_features_tell_the_measured_accuracy():
    found = json.loads((DOCS / "results" / "quality.json").read_text(encoding="utf-8"))["intervals"]["accuracy"]
    shown = f"decides {found['value']:.0%} [{found['low']:.0%}, {found['high']:.0%}] of"
    assert shown in (DOCS / "features.md").read_text(encoding="utf-8")


def test_the_choice_of_layers_tells_what_was_measured():
    tried = json.loads((DOCS / "experiments" / "reward.json").read_text(encoding="utf-8"))["models"]
    last, lowest = (
        mean(run["dev"]["dev_accuracy"]["value"] for row in tried if row["model"] == name for run in row["runs"])
        for name in ("MiniLM, PR, last layer", "MiniLM, PR")
    )
    shown = f"over three seeds the last one decides {last:.0%} of held-back pairs, these {lowest:.0%}"
    assert shown in next(choice.why for choice in REWARD_CHOICES if choice.option == "--layers")
