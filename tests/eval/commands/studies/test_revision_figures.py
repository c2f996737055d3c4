from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from eval.commands.studies.revision import check_metric, curves_figure, revision_report, revision_tables
from eval.drafts.cases import Case
from eval.drafts.comparison import CLAIM_KINDS
from eval.drafts.systems import MODEL, System, SystemSelection
from eval.report.pictures import draw
from eval.report.render import markdown
from eval.retrieval.gains import GainsRecord
from pearl.errors import ChatError, InputError
from pearl.models.asking.ask import EMPTY_ANSWER
from pearl.models.asking.write import UNREADABLE, WrittenText
from pearl.records import Document, Request, ScoredDocument

TARGETS = ("a b", "c d", "e f", "g h")
SCORES = (0.1, 0.2, 0.3, 0.4)
OLD = Document("old", "x")
CASES = [
    Case(GainsRecord(Request("w " * (index + 1)), f"u{index}", None, target, (OLD,), (0.0,)), f"user u{index}", target)
    for index, target in enumerate(TARGETS)
]
# the first two drafts miss and are mended, the last two are right and are spoiled
DRAFTS = [WrittenText("x"), WrittenText("x"), WrittenText("e f"), WrittenText("g h")]
REVISIONS = [WrittenText("a b"), WrittenText("c d"), WrittenText("x"), WrittenText("x")]


def system(threshold: float | None) -> System:
    shown = tuple(SystemSelection((OLD,), ScoredDocument(OLD, score)) for score in SCORES)
    return System("mine", MODEL, shown, threshold=threshold)


def report(bertscore, threshold, drafts=DRAFTS, revisions=REVISIONS):
    return revision_report(CASES, system(threshold), drafts, revisions, bertscore, stances=None)


def policies(result):
    return {row["policy"]: row for row in result["policies"]}


def gap(row, against):
    return next(each for each in row["differences"] if each["against"] == against)["rouge2"]["value"]


def test_the_threshold_revises_what_lies_below_it(bertscore):
    result = report(bertscore, 0.3)
    found = policies(result)
    assert {name: row["rouge2"]["value"] for name, row in found.items()} == {
        "none": 0.5,
        "all": 0.5,
        "selective": 1,
        "random": 0.5,
    }
    assert {name: row["share_revised"]["value"] for name, row in found.items()} == {
        "none": 0,
        "all": 1,
        "selective": 0.5,
        "random": 0.5,
    }
    assert [gap(found["selective"], other) for other in ("none", "all", "random")] == [0.5, 0.5, 0.5]
    assert found["none"]["differences"] == []
    assert (result["n"], result["users"], result["threshold"]) == (4, 4, 0.3)


def test_never_is_no_revision(bertscore):
    result = report(bertscore, None)
    found = policies(result)
    assert result["threshold"] is None
    assert found["selective"]["rouge2"] == found["none"]["rouge2"]
    assert found["selective"]["share_revised"]["value"] == 0
    assert "theta never" in next(iter(revision_tables({"models": [result], "command": "pearl"}))).caption


def test_the_curve_goes_from_none_to_all(bertscore):
    points = report(bertscore, None)["curve"]
    shares = [point["share_revised"]["value"] for point in points]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert points[-1]["threshold"] is None
    best = max(points, key=lambda point: point["rouge2"]["value"])
    assert (best["rouge2"]["value"], best["share_revised"]["value"]) == (1, 0.5)
    assert 0.2 < best["threshold"] <= 0.3
    assert gap(best, "none") == 0.5


def test_how_often_chance_does_as_well(bertscore):
    # two more are right below the best theta: as far comes a random walk of four steps in 6 of 16 cases
    result = report(bertscore, None)
    assert result["by_chance"]["rouge2"] == pytest.approx(6 / 16, abs=0.03)
    assert set(result["by_chance"]) == {"rouge1", "rouge2", "bertscore", *CLAIM_KINDS}
    harmed = report(bertscore, None, drafts=[WrittenText(text) for text in TARGETS])
    assert harmed["by_chance"]["rouge2"] == 1.0


def test_an_unreadable_revision_keeps_the_draft(bertscore):
    result = report(bertscore, 0.3, revisions=[WrittenText(None, UNREADABLE), *REVISIONS[1:]])
    assert result["n"] == 4
    assert policies(result)["selective"]["rouge2"]["value"] == 0.75
    assert result["revisions"]["failures"] == {UNREADABLE: 1}
    assert result["drafts"]["failed"] == 0


def test_the_table_says_what_was_unreadable_and_what_is_left_out(bertscore):
    revisions = [WrittenText(None, UNREADABLE, True), WrittenText(None, UNREADABLE), REVISIONS[2]]
    lost = report(bertscore, 0.3, revisions=[*revisions, WrittenText(None, "llm_timeout")])
    (caption, *_) = (table.caption for table in revision_tables({"models": [lost], "command": "pearl"}))
    assert "Of the revisions 2 could not be read, 1 for being cut off, which keeps the draft." in caption
    assert "1 of 4 requests left out, whose draft or revision failed." in caption
    kept = report(bertscore, 0.3, revisions=[*revisions, REVISIONS[3]])
    assert "left out" not in next(revision_tables({"models": [kept], "command": "pearl"})).caption


def test_what_failed_is_left_out_of_every_policy_and_counted(bertscore):
    drafts = [WrittenText(None, EMPTY_ANSWER), *DRAFTS[1:]]
    revisions = [WrittenText(None, EMPTY_ANSWER), WrittenText(None, "llm_timeout"), *REVISIONS[2:]]
    result = report(bertscore, 0.4, drafts, revisions)
    assert (result["requests"], result["n"]) == (4, 2)
    assert result["drafts"]["failures"] == {EMPTY_ANSWER: 1}
    assert result["revisions"]["failures"] == {"llm_timeout": 1}
    assert {name: row["rouge2"]["value"] for name, row in policies(result).items()} == {
        "none": 1,
        "all": 0,
        "selective": 0.5,
        "random": 0.5,
    }


def test_nothing_left_is_an_error(bertscore):
    with pytest.raises(ChatError, match="llm_refused"):
        report(bertscore, 0.3, revisions=[WrittenText(None, "llm_refused")] * 4)


def test_what_nothing_was_ranked_for_is_never_revised(bertscore):
    unranked = replace(system(0.5), shown=(SystemSelection(),) * 4)
    result = revision_report(CASES, unranked, DRAFTS, REVISIONS, bertscore, stances=None)
    assert policies(result)["selective"]["share_revised"]["value"] == 0
    assert len(result["curve"]) == 1


def test_slices_and_tables(bertscore):
    result = report(bertscore, 0.3)
    assert {part["by"] for part in result["slices"]} == {"request_words"}
    assert sum(part["n"] for part in result["slices"]) == 4
    whole, *parts = (markdown(table) for table in revision_tables({"models": [result], "command": "pearl eval"}))
    assert "| selective | 1.0000 [1.0000, 1.0000] |" in whole
    assert "theta 0.300" in whole
    assert len(parts) == len(result["slices"])


@pytest.mark.parametrize("threshold", [0.3, None])
def test_the_picture_is_the_same_every_time(bertscore, tmp_path: Path, threshold):
    result = report(bertscore, threshold)
    path = tmp_path / "curve.svg"
    draw(partial(curves_figure, "rouge2"), {"models": [result, result]}, path)
    first = path.read_bytes()
    draw(partial(curves_figure, "rouge2"), {"models": [result, result]}, path)
    assert path.read_bytes() == first
    assert ("theta = 0.30" if threshold else "theta = never") in first.decode()


def test_a_metric_there_is_not():
    check_metric("rouge1", stances=False)
    check_metric("macro_f1", stances=True)
    with pytest.raises(InputError, match="--metric macro_f1"):
        check_metric("macro_f1", stances=False)
