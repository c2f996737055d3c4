from __future__ import annotations

import json

import numpy as np
import pytest

from eval.drafts.by_count import by_count, distances, margins, shown_report, shown_tables
from eval.drafts.cases import Case
from eval.drafts.systems import MODEL, System, SystemSelection
from eval.report.render import markdown
from eval.retrieval.gains import GainsRecord
from pearl.models.asking.write import WrittenText
from pearl.records import Document, Request, ScoredDocument

TARGETS = ("a b", "c d", "e f", "g h")
DOCUMENTS = tuple(Document(name, name) for name in "xyz")
CASES = [
    Case(GainsRecord(Request("w"), f"u{index}", None, target, DOCUMENTS, (0.0,) * 3), f"user u{index}", target)
    for index, target in enumerate(TARGETS)
]
# the first two have one document far above the rest, the others three that are alike; the last has only two
SCORES = ((5.0, 1.0, 0.5), (4.0, 1.0, 1.0), (2.0, 1.9, 1.8), (1.0, 0.9))


@pytest.fixture
def system() -> System:
    shown = tuple(
        SystemSelection(DOCUMENTS[: len(each)], ScoredDocument(DOCUMENTS[0], each[0]), each) for each in SCORES
    )
    return System("mine", MODEL, shown)


def texts(right: str) -> list[WrittenText]:
    """What is written for each case: what the user wrote where ``right`` says 1."""
    return [WrittenText(target if each == "1" else "no") for target, each in zip(TARGETS, right, strict=True)]


def test_one_two_and_all_documents(system):
    systems = by_count(system)
    assert [[len(each.documents) for each in counted.shown] for counted in systems] == [[1] * 4, [2] * 4, [3, 3, 3, 2]]
    assert [counted.shown[0].scores for counted in systems] == [(5.0,), (5.0, 1.0), (5.0, 1.0, 0.5)]
    nothing = System("none", MODEL, (SystemSelection(),) * 2)
    assert by_count(nothing) == [nothing]


def test_margins_take_each_text_from_the_drafts_by_count(system, bertscore):
    # with one document the first two are right, with all the last two: a margin of 0.2 has all four
    report = shown_report(CASES, system, [texts("1100"), texts("0001"), texts("0011")], bertscore, stances=None)
    by_margin = {point["margin"]: point for point in report["curve"]}
    best = max(report["curve"], key=lambda point: point["rouge2"]["value"])
    assert best["rouge2"]["value"] == 1.0
    assert 0.19 < best["margin"] < 3.0
    assert best["documents"]["value"] == (1 + 1 + 3 + 2) / 4
    assert best["less_all"]["rouge2"]["value"] == 0.5
    assert by_margin[None]["documents"]["value"] == (3 + 3 + 3 + 2) / 4
    assert by_margin[None]["rouge2"]["value"] == 0.5
    assert [row["rouge2"]["value"] for row in report["by_count"]] == [0.5, 0.25, 0.5]
    assert (report["n"], report["users"], report["requests"]) == (4, 4, 4)
    # two of four gain by the margin, and nobody loses: so in one of four exchanges
    assert report["by_chance"]["rouge2"] == pytest.approx(1 / 4, abs=0.03)
    json.dumps(report)
    margin_table, count_table = shown_tables({"models": [report], "command": "pearl eval generation --by-count"})
    assert markdown(margin_table).count("| all |") == 1
    assert "\n| 3 | 0.5000" in markdown(count_table)


def test_requests_without_every_draft_are_left_out(system, bertscore):
    failed = [WrittenText(None, "llm_refused"), *texts("0011")[1:]]
    report = shown_report(CASES, system, [texts("1100"), texts("0001"), failed], bertscore, stances=None)
    assert (report["n"], report["requests"]) == (3, 4)
    assert report["drafts"][2]["failures"] == {"llm_refused": 1}
    table, _ = shown_tables({"models": [report], "command": "pearl eval generation --by-count"})
    assert "1 of 4 requests left out, whose drafts failed." in table.caption


def test_one_document_leaves_nothing_to_choose(bertscore):
    alone = System("mine", MODEL, (SystemSelection(DOCUMENTS[:1], ScoredDocument(DOCUMENTS[0], 1.0), (1.0,)),) * 4)
    assert margins(distances(alone, 1)) == []
    report = shown_report(CASES, alone, [texts("1111")], bertscore, stances=None)
    assert [point["margin"] for point in report["curve"]] == [None]
    assert report["by_chance"]["rouge2"] == 1.0


def test_distances(system):
    assert np.array_equal(distances(system, 3)[3], [0.0, pytest.approx(0.1), np.inf])
    unranked = System("none", MODEL, (SystemSelection(),))
    assert np.isinf(distances(unranked, 2)).all()
