from __future__ import annotations

import random

import numpy as np
import pytest

from eval.commands.studies.generation import generation_report, generation_tables
from eval.drafts.cases import Case
from eval.drafts.systems import BASELINE, MODEL, System, SystemSelection
from eval.report.render import markdown
from eval.retrieval.gains import GainsRecord
from pearl.errors import ChatError
from pearl.models.asking.ask import EMPTY_ANSWER
from pearl.models.asking.write import WrittenText
from pearl.records import Document, Request, ScoredDocument

TARGETS = ("a b", "c d", "e f", "g h", "i j", "k l")
OLD = Document("old", "a b")


def case(number: int, target: str) -> Case:
    request = Request(" ".join(["word"] * (1 + number)))
    return Case(GainsRecord(request, f"u{number % 3}", None, target, (OLD,), (0.0,)), f"user u{number % 3}", target)


CASES = [case(number, target) for number, target in enumerate(TARGETS)]
SHOWN = (SystemSelection((OLD,), ScoredDocument(OLD, 1.0)),) * len(CASES)
OURS = System("mine", MODEL, SHOWN)
PLAIN = System("bm25", BASELINE, SHOWN)
ZERO = System("zero-shot", BASELINE, (SystemSelection(),) * len(CASES))


def written(*texts: str | None) -> list[WrittenText]:
    return [WrittenText(text) if text is not None else WrittenText(None, EMPTY_ANSWER) for text in texts]


def rows(result, name):
    return {row["model"]: row for row in result[name]}


def test_the_figures_by_hand(bertscore):
    texts = [written(*TARGETS), written("a b", "c x", "e f", "x x", "i x", "k l"), written(*["x"] * 6)]
    result = generation_report(CASES, [OURS, PLAIN, ZERO], texts, bertscore, stances=None)
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
    result = generation_report(CASES, [OURS, PLAIN], texts, bertscore, stances=None)
    assert (result["requests"], result["n"]) == (6, 4)
    ours, plain = result["models"]
    assert (ours["failed"], ours["failures"], ours["cut_off"]) == (1, {EMPTY_ANSWER: 1}, 0)
    assert plain["failed"] == 1
    assert (ours["rouge2"]["value"], plain["rouge2"]["value"]) == (3 / 4, 1 / 4)


def test_nothing_to_compare_is_an_error_that_says_why(bertscore):
    with pytest.raises(ChatError, match="empty_answer: 6"):
        generation_report(CASES, [OURS], [written(*[None] * 6)], bertscore, stances=None)


def test_stances_with_the_trivial_answers_beside_them(bertscore):
    targets = ("YTA", "YTA, sorry", "NTA", "NTA!", "hm", "NTA but YTA")
    found = [case(number, target) for number, target in enumerate(targets)]
    result = generation_report(
        found, [OURS], [written("YTA", "no idea", "NTA", "YTA", "YTA", "NTA")], bertscore, stances="corrected"
    )
    assert result["stances"]["target"] == {"YTA": 2, "NTA": 2, "unlabelled": 2}
    assert result["stances"]["mine"] == {"YTA": 3, "NTA": 2, "unlabelled": 1}
    # YTA: 1 hit, 1 false alarm, 1 miss; NTA: 1 hit, 0 false alarms, 1 miss
    assert result["models"][0]["macro_f1"]["value"] == pytest.approx((2 / 4 + 2 / 3) / 2)
    always = rows(result, "baselines")["always NTA"]
    assert always["macro_f1"]["value"] == pytest.approx((0 + 4 / 6) / 2)


def ranked(*scores: float) -> System:
    return System("mine", MODEL, tuple(SystemSelection((OLD,), ScoredDocument(OLD, score)) for score in scores))


def test_whether_s1_says_how_good_a_draft_will_be(bertscore):
    texts = written("a b", "c x", "x x", "g h", None, "k x")
    found = [ranked(3.0, 2.0, 0.5, 1.0, 9.0, 1.5), ZERO]
    ours, zero = generation_report(CASES, found, [texts, written(*TARGETS)], bertscore, stances=None)["models"]
    assert "s1_pearson_r" not in zero
    correlations = ours["s1_pearson_r"]
    assert list(correlations) == ["rouge1", "rouge2", "bertscore"]
    s1 = (3.0, 2.0, 0.5, 1.0, 1.5)
    assert correlations["rouge1"]["value"] == pytest.approx(np.corrcoef(s1, (1, 0.5, 0, 1, 0.5))[0, 1])
    assert correlations["rouge2"]["value"] == pytest.approx(np.corrcoef(s1, (1, 0, 0, 1, 0))[0, 1])
    for interval in correlations.values():
        assert interval["low"] <= interval["value"] <= interval["high"]


def test_nothing_is_correlated_with_one_score_or_one_figure(bertscore):
    (same,) = generation_report(CASES, [OURS], [written(*"abcdef")], bertscore, stances=None)["models"]
    assert set(same["s1_pearson_r"].values()) == {None}
    ours = generation_report(CASES, [ranked(1, 2, 3, 4, 5, 6)], [written(*TARGETS)], bertscore, stances=None)
    assert ours["models"][0]["s1_pearson_r"]["rouge1"] is None


def macro_f1(pairs: list[tuple[str, str]]) -> float:
    """Of (target, draft), one stance after the other."""
    values = []
    for label in ("YTA", "NTA"):
        hits = sum(target == draft == label for target, draft in pairs)
        wrong = sum((target == label) != (draft == label) for target, draft in pairs)
        values.append(2 * hits / (2 * hits + wrong))
    return sum(values) / 2


def test_stances_are_correlated_over_ten_bins_of_s1(bertscore):
    generator = random.Random(0)
    targets = ["YTA", "NTA"] * 50
    # the higher s1, the righter
    drafts = [each if generator.random() < index / 99 else "NTA" for index, each in enumerate(targets)]
    found = [case(index, target) for index, target in enumerate(targets)]
    system = ranked(*(index**2 / 7 for index in range(100)))
    (row,) = generation_report(found, [system], [written(*drafts)], bertscore, stances="corrected")["models"]
    pairs = list(zip(targets, drafts, strict=True))
    starts, figures = [], []
    for start in range(0, 100, 10):
        starts.append(start**2 / 7)
        figures.append(macro_f1(pairs[start : start + 10]))
    interval = row["s1_pearson_r"]["macro_f1"]
    assert interval["value"] == pytest.approx(np.corrcoef(starts, figures)[0, 1])
    assert 0 < interval["low"] < interval["value"] < interval["high"] <= 1


def test_two_bins_of_stances_are_not_correlated(bertscore):
    targets = ("YTA", "NTA", "YTA", "NTA", "YTA", "NTA")
    found = [case(index, target) for index, target in enumerate(targets)]
    texts = written("YTA", "NTA", "NTA", "YTA", "YTA", "YTA")
    (row,) = generation_report(found, [ranked(1, 1, 1, 2, 2, 2)], [texts], bertscore, stances="corrected")["models"]
    assert row["s1_pearson_r"]["macro_f1"] is None
    assert row["s1_pearson_r"]["rouge1"] is not None


def test_the_same_twice(bertscore):
    texts = [written(*TARGETS), written("a b", "c x", "e f", "x x", "i x", "k l")]
    first, second = (generation_report(CASES, [OURS, PLAIN], texts, bertscore, stances=None) for _ in range(2))
    assert first == second


def test_the_tables(bertscore):
    result = generation_report(CASES, [OURS, PLAIN], [written(*TARGETS), written(*"xxxxxx")], bertscore, stances=None)
    counts, figures, differences, *_ = (markdown(table) for table in generation_tables(result | {"command": "pearl"}))
    assert "| mine | 0 | 0 |" in counts
    assert "| mine | 1.0000 [1.0000, 1.0000] |" in figures
    assert "copy of bm25" in figures
    assert "+1.0000 [+1.0000, +1.0000] bm25" in differences


def test_the_table_of_correlations(bertscore):
    texts = [written("a b", "c x", "x x", "g h", "i j", "k x"), written(*"xxxxxx")]
    result = generation_report(CASES, [ranked(3, 2, 0.5, 1, 9, 1.5), ZERO], texts, bertscore, stances=None)
    result |= {"command": "pearl"}
    (table,) = [each for each in generation_tables(result) if "table 6" in each.caption]
    value = result["models"][0]["s1_pearson_r"]["rouge2"]["value"]
    assert table.columns == ("model", "r with ROUGE-1", "r with ROUGE-2", "r with BERTScore")
    assert [row[0] for row in table.rows] == ["mine"]
    assert table.rows[0][2].startswith(f"{value:.2f} [")
    del result["models"][0]["s1_pearson_r"]  # as in results from before there was one
    assert not [each for each in generation_tables(result) if "table 6" in each.caption]
