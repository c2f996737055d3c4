from __future__ import annotations

import pytest

from eval.drafts import EMPTY, Written
from eval.gains import GainsRecord
from eval.generation import generation_report
from eval.systems import BASELINE, MODEL, Case, Shown, System
from eval.tables import markdown
from eval.writing_tables import generation_tables
from pearl.errors import ChatError
from pearl.records import Document, Request, ScoredDocument

TARGETS = ("a b", "c d", "e f", "g h", "i j", "k l")
OLD = Document("old", "a b")


def case(number: int, target: str) -> Case:
    request = Request(" ".join(["word"] * (1 + number)))
    return Case(GainsRecord(request, f"u{number % 3}", None, target, (OLD,), (0.0,)), f"user u{number % 3}", target)


CASES = [case(number, target) for number, target in enumerate(TARGETS)]
SHOWN = (Shown((OLD,), ScoredDocument(OLD, 1.0)),) * len(CASES)
MINE = System("mine", MODEL, SHOWN)
PLAIN = System("bm25", BASELINE, SHOWN)
ZERO = System("zero-shot", BASELINE, (Shown(),) * len(CASES))


def written(*texts: str | None) -> list[Written]:
    return [Written(text) if text is not None else Written(None, EMPTY) for text in texts]


def rows(result, name):
    return {row["model"]: row for row in result[name]}


def test_the_figures_by_hand(bertscore):
    texts = [written(*TARGETS), written("a b", "c x", "e f", "x x", "i x", "k l"), written(*["x"] * 6)]
    result = generation_report(CASES, [MINE, PLAIN, ZERO], texts, bertscore, stances=False)
    assert (result["requests"], result["n"], result["users"], result["resampled"]) == (6, 6, 3, "users")
    models = rows(result, "models")
    assert list(models) == ["mine", "bm25", "zero-shot"]
    assert models["mine"]["rouge1"] == {"value": 1, "low": 1, "high": 1}
    assert models["bm25"]["rouge1"]["value"] == pytest.approx((1 + 0.5 + 1 + 0 + 0.5 + 1) / 6)
    assert models["bm25"]["rouge2"]["value"] == pytest.approx(3 / 6)
    assert models["zero-shot"]["rouge2"]["value"] == 0
    assert models["bm25"]["rouge2"]["low"] <= 0.5 <= models["bm25"]["rouge2"]["high"]
    assert list(rows(result, "baselines")) == ["copy of mine", "copy of bm25"]
    assert rows(result, "baselines")["copy of mine"]["rouge1"]["value"] == pytest.approx(1 / 6)
    gap = rows(result, "differences")["mine"]["rouge2"]
    assert (gap["against"], gap["value"]) == ("bm25", pytest.approx(0.5))
    assert gap["low"] <= 0.5 <= gap["high"]
    assert rows(result, "differences")["bm25"]["rouge2"]["against"] == "zero-shot"


def test_all_stand_on_the_requests_that_all_have_a_draft_for(bertscore):
    texts = [written("a b", None, "x", "g h", "i j", "k l"), written(None, "c d", "e f", "x", "x", "x")]
    result = generation_report(CASES, [MINE, PLAIN], texts, bertscore, stances=False)
    assert (result["requests"], result["n"]) == (6, 4)
    mine, plain = result["models"]
    assert (mine["failed"], mine["failures"], mine["cut_off"]) == (1, {EMPTY: 1}, 0)
    assert plain["failed"] == 1
    assert (mine["rouge2"]["value"], plain["rouge2"]["value"]) == (3 / 4, 1 / 4)


def test_nothing_to_compare_is_an_error_that_says_why(bertscore):
    with pytest.raises(ChatError, match="empty_answer: 6"):
        generation_report(CASES, [MINE], [written(*[None] * 6)], bertscore, stances=False)


def test_slices_hold_the_same_rows(bertscore):
    result = generation_report(CASES, [MINE, PLAIN], [written(*TARGETS), written(*"xxxxxx")], bertscore, stances=False)
    assert [(part["by"], part["low"], part["high"], part["n"]) for part in result["slices"]] == [
        ("request_words", 1, 2, 2),
        ("request_words", 3, 4, 2),
        ("request_words", 5, 6, 2),
    ]
    for part in result["slices"]:
        assert [row["model"] for row in part["models"]] == ["mine", "bm25"]
        assert part["models"][0]["rouge1"]["value"] == 1


def test_stances_with_the_trivial_answers_beside_them(bertscore):
    targets = ("YTA", "YTA, sorry", "NTA", "NTA!", "hm", "NTA but YTA")
    found = [case(number, target) for number, target in enumerate(targets)]
    result = generation_report(
        found, [MINE], [written("YTA", "no idea", "NTA", "YTA", "YTA", "NTA")], bertscore, stances=True
    )
    assert result["stances"]["target"] == {"YTA": 2, "NTA": 2, "unlabelled": 2}
    assert result["stances"]["mine"] == {"YTA": 3, "NTA": 2, "unlabelled": 1}
    # YTA: 1 hit, 1 false alarm, 1 miss; NTA: 1 hit, 0 false alarms, 1 miss
    assert result["models"][0]["macro_f1"]["value"] == pytest.approx((2 / 4 + 2 / 3) / 2)
    always = rows(result, "baselines")["always NTA"]
    assert always["macro_f1"]["value"] == pytest.approx((0 + 4 / 6) / 2)


def test_the_same_twice(bertscore):
    texts = [written(*TARGETS), written("a b", "c x", "e f", "x x", "i x", "k l")]
    first, second = (generation_report(CASES, [MINE, PLAIN], texts, bertscore, stances=False) for _ in range(2))
    assert first == second


def test_the_tables(bertscore):
    result = generation_report(CASES, [MINE, PLAIN], [written(*TARGETS), written(*"xxxxxx")], bertscore, stances=False)
    counts, figures, differences, *_ = (markdown(table) for table in generation_tables(result | {"command": "pearl"}))
    assert "| mine | 0 | 0 |" in counts
    assert "| mine | 1.0000 [1.0000, 1.0000] |" in figures
    assert "copy of bm25" in figures
    assert "+1.0000 [+1.0000, +1.0000] bm25" in differences
