"""docs/results.md is read in three minutes: a question, a table, a picture and a result file a section."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retriever.base import Helps
from retriever.calibrated.artifact import SHIPPED, read_manifest
from training.config import TrainingConfig, read_config
from training.run import TrainingOptions

DOCS = Path(__file__).parents[2] / "docs"
HEAD, *SECTIONS = (DOCS / "results.md").read_text(encoding="utf-8").split("\n## ")


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_a_question_has_one_table_one_picture_and_its_result_file(section: str) -> None:
    assert section.partition("\n")[0].endswith("?")
    tables = re.findall(r"(?:^\|.*\n)+", section, flags=re.MULTILINE)
    assert len(tables) == 1
    rows = tables[0].strip().splitlines()
    assert len(rows) <= 10
    assert rows[0].count("|") <= 6
    assert len(re.findall(r"^!\[", section, flags=re.MULTILINE)) == 1
    files = re.findall(r"\[All figures\]\(([^)]+)\)", section)
    assert len(files) == 1
    assert '"command":' in (DOCS / files[0]).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "results"), [("../README.md", "*"), ("results.md", "*"), ("judging.md", "quality")])
def test_each_interval_of_a_page_is_in_a_result_file(page: str, results: str) -> None:
    """Tables and sentences written by hand show what was measured, rounded."""
    files = [*DOCS.glob(f"results/{results}.json"), DOCS / "experiments" / "chosen.json"]
    measured = [each for file in files for each in intervals(json.loads(file.read_text(encoding="utf-8")))]
    text = (DOCS / page).read_text(encoding="utf-8").partition("By kind of pair:")[0]  # whose figures are a tag's
    said = re.findall(r"([+-]?\d+(\.\d+)?) \[([+-]?[\d.]+), ([+-]?[\d.]+)\]", text)
    assert len(said) > 10
    for decimals in {len(number[1][1:]) for number in said}:
        known = {tuple(f"{value:.{decimals}f}" for value in each) for each in measured}
        shown = {
            tuple(part.lstrip("+") for part in (number[0], *number[2:]))
            for number in said
            if len(number[1][1:]) == decimals
        }
        assert shown - known == set()


def intervals(value: Any) -> Iterator[tuple[float, float, float]]:
    """Yield the intervals anywhere in a result."""
    if isinstance(value, list):
        for each in value:
            yield from intervals(each)
    elif isinstance(value, dict):
        if isinstance(value.get("low"), float) and isinstance(value.get("value"), float):
            yield value["value"], value["low"], value["high"]
        for each in value.values():
            yield from intervals(each)


def test_the_probability_that_ships_is_the_one_that_was_fitted() -> None:
    fitted = json.loads((DOCS / "experiments" / "chosen.json").read_text(encoding="utf-8"))["helps"]
    shipped = read_manifest(SHIPPED)
    assert shipped.helps == Helps(fitted["slope"], fitted["intercept"])
    assert shipped.training["helps"]["documents"] == fitted["documents"]


def test_what_ships_is_said_as_it_was_run() -> None:
    """Its artifact names what differs from the preset; the front pages say so, with the paper's way beside it."""
    training = read_manifest(SHIPPED).training
    ran, _ = read_config(TrainingConfig, SHIPPED / "artifact.json", [])
    options = TrainingOptions((), Path(), Path(), **ran | {"first_stage_only": training["base"] is None})
    assert training["changed"] == options.changed
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for page in (readme, "\n".join(SECTIONS)):
        assert "without a cross-encoder and without the paper's selection of requests (share 1, tau 20)" in page
        assert re.search(r"^\|.* the paper's (own )?configuration", page, flags=re.MULTILINE)


def test_it_is_read_in_three_minutes() -> None:
    prose = [line for section in (HEAD, *SECTIONS) for line in section.partition("<details>")[0].splitlines()]
    words = sum(len(line.split()) for line in prose if not line.startswith(("|", "!")))
    assert words < 3 * 250


def test_each_kind_of_text_is_measured_with_it_left_out_and_beside_every_baseline() -> None:
    from results_tables import DOMAINS

    from retriever.registry import ENTRIES

    results = json.loads((DOCS / "results" / "domains.json").read_text(encoding="utf-8"))["domains"]
    assert [result["domain"] for result in results] == list(DOMAINS)
    for name, result in zip(DOMAINS, results, strict=True):
        models = {row["model"].rpartition("/")[2] for row in result["models"]}
        quick = {entry.name for entry in ENTRIES if entry.served} - {"fusion"}
        assert models >= {f"without-{name}", *quick}
        assert result["users"] >= 20
        assert result["command"].count("--gains") == 1
