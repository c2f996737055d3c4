"""The figures of reward models in the docs are those of the result files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean

import pytest

from retriever.reward.model import RewardModel
from training.reward.choices import REWARD_CHOICES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tables() -> list[tuple[str, str]]:
    """The page that each table stands on, and the table."""
    sys.path.insert(0, str(DOCS))
    try:
        from judging_page import kinds_table, quality_table
    finally:
        sys.path.remove(str(DOCS))
    return [
        ("judging.md", quality_table()),
        ("judging.md", kinds_table()),
    ]


def test_the_tables_stand_on_their_pages(tables):
    for page, table in tables:
        assert table in (DOCS / page).read_text(encoding="utf-8")
    accuracy = json.loads((DOCS / "results" / "quality.json").read_text(encoding="utf-8"))["intervals"]["accuracy"]
    assert f"| embedded | {accuracy['value']:.2f} [" in tables[0][1]


def test_the_shipped_model_is_measured_by_kind_with_the_figures_it_carries():
    measured = json.loads((DOCS / "experiments" / "reward_kinds.json").read_text(encoding="utf-8"))["kinds"]
    carried = RewardModel.load("embedded").artifact.figures["other_kinds"]
    others = [kind for kind in measured if not kind["learned_from"]]
    assert [kind["pairs"] for kind in others] == [kind["all_pairs"]["pairs"] for kind in carried]
    for one, other in zip(others, carried, strict=True):
        assert one["all"]["embedded"]["value"] == pytest.approx(other["all_pairs"]["accuracy"]["value"], abs=1e-6)


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
    assert shown in next(choice.why for choice in REWARD_CHOICES if choice.name == "layers")
