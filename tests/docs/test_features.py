"""docs/features.md: a warning sign marks a choice, and each is one that is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from eval.asking.choices import NUMBERS
from eval.commands.judge import items
from eval.drafts import stance
from eval.judges import authorship, discover, personalized, quality, style_detect, style_rank, style_write
from eval.recorded.personalized import presets
from eval.recorded.quality import experts
from eval.recorded.style import choices as style_choices
from pearl.cli.main import app
from training.config import choices_in
from training.reward.config import RewardConfig

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| (\d+) \| ([^|]*⚠[^|]*) \| (\w+) \| (.*) \|$", re.MULTILINE)
# the choices of each row with a warning sign that is there; a row that comes to work brings its choices here
CHOICES = {
    "stance ⚠": {"stances"},
    "benchmark ⚠": {"orders"},
    "grid ⚠": {"persona_1"},
    "detection prompts ⚠": {"headings", "style_shown"},
    "rubric ranking ⚠": {"perspective"},
    "PRISM ⚠": {"score_tie"},
    "OpinionQA ⚠": {"question"},
    "empathetic conversations ⚠": {"essay_tie", "tie_share"},
    "public reddit ⚠": {"distractor"},
    "decoding ⚠": {"top_p"},
    "ablations ⚠": {"key"},
    "cross-vote ⚠": {"cross_vote"},
    "reward model ⚠": {"head", "pair_rule"},
    "loss ⚠": {"weight", "average"},
}
# where the choice is a number
OPTIONS = {"high certainty ⚠": "--threshold", "metrics ⚠": "--figure", "uncertainty ⚠": "--prior"}


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    """The evidence of the rows with a warning sign that are not missing."""
    page = (DOCS / "features.md").read_text(encoding="utf-8")
    return {name: said for _, name, state, said in ROW.findall(page) if state != "missing"}


@pytest.fixture(scope="module")
def declared() -> set[str]:
    """The names of all declared choices."""
    judges = (authorship, personalized, quality, style_detect, style_rank, style_write)
    every = [
        *(judge.JUDGE.presets for judge in judges),
        *(source.presets for source in items.SOURCES.values()),
        *(module.PRESETS for module in (discover, experts, presets, stance, style_choices)),
    ]
    return (
        {choice.name for each in every for choice in each.choices}
        | {*choices_in(RewardConfig)}
        | {number.name for number in NUMBERS}
    )


def options(command: Any) -> Iterator[str]:
    """Yield the options of a command and of the commands below it."""
    yield from (name for param in command.params for name in param.opts)
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from options(command.get_command(None, name))


def test_each_warning_sign_is_a_choice(rows, declared):
    assert set(rows) == CHOICES.keys() | OPTIONS.keys()
    assert [name for names in CHOICES.values() for name in names if name not in declared] == []


def test_the_evidence_of_a_warning_sign_names_its_choice(rows):
    for name, choices in CHOICES.items():
        named = set(re.findall(r"(\w+)=", rows[name])) or {
            "stances" for _ in re.findall("--stances as_published", rows[name])
        }
        assert named & choices, name
    known = set(options(typer.main.get_command(app)))
    for name, option in OPTIONS.items():
        assert f"`{option}`" in rows[name]
        assert option in known


def test_every_test_that_is_named_is_there():
    page = (DOCS / "features.md").read_text(encoding="utf-8")
    there = {path.name for path in (DOCS.parent / "tests").rglob("test_*.py")}
    assert {Path(name).name for name in re.findall(r"[\w/]*test_\w+\.py", page)} <= there
