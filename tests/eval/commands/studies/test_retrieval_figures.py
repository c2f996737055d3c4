from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
import pytest

from eval.commands.studies.retrieval import (
    BEST,
    METRICS,
    RANDOM,
    RetrievalOptions,
    retrieval_report,
    retrieval_table,
    wins,
)
from eval.report.metric import Metric
from eval.retrieval.choices import Candidates, set_aside
from eval.retrieval.gains import GainsRecord
from eval.retrieval.scoring import ModelScores
from pearl.records import Document, Request

OPTIONS = RetrievalOptions(gains=[], model=[], k=2)


def record(gains: list[float], user_id: str | None = None, request: str = "a", target: str | None = None, texts=None):
    texts = texts or [f"text {index}" for index in range(len(gains))]
    documents = tuple(Document(str(index), text) for index, text in enumerate(texts))
    return GainsRecord(Request(request), user_id, None, target, documents, tuple(gains))


def choices(records: list[GainsRecord], **models: list[list[float]]) -> Candidates:
    scored = [ModelScores(name, tuple(np.array(scores) for scores in each)) for name, each in models.items()]
    return Candidates.of_all(records, scored)


RECORDS = [record([8.0, 2.0, -4.0], "ann"), record([0.0, 6.0, 3.0], "ann"), record([1.0, -1.0], "ben")]
GOOD = [[3.0, 2.0, 1.0], [1.0, 5.0, 4.0], [0.5, 0.2]]  # chooses 8, 6, 1 with s1 of 3, 5, 0.5
POOR = [[1.0, 1.5, 2.0], [7.0, 5.0, 4.0], [0.0, 0.0]]  # chooses -4, 0 and, as the newest of equal ones, -1


@pytest.fixture
def table() -> dict[str, Any]:
    return retrieval_table(choices(RECORDS, good=GOOD, poor=POOR), ["poor"], OPTIONS)


def value(row: dict[str, Any], name: str) -> float:
    assert row[name]["low"] <= row[name]["value"] <= row[name]["high"]
    return row[name]["value"]


def test_every_figure_by_hand(table):
    good, poor = table["models"]
    assert (good["model"], poor["model"]) == ("good", "poor")
    assert value(good, "top1_gain") == pytest.approx((8 + 6 + 1) / 3)
    assert value(poor, "top1_gain") == pytest.approx((-4 + 0 - 1) / 3)
    assert value(good, "topk_gain") == pytest.approx(((8 + 2) / 2 + (6 + 3) / 2 + (1 - 1) / 2) / 3)
    assert value(good, "ndcg") == 1.0
    ndcg = (
        (2 / log2(3) + 8 / log2(4)) / (8 + 2 / log2(3)),  # -4, 2, 8
        (6 / log2(3) + 3 / log2(4)) / (6 + 3 / log2(3)),  # 0, 6, 3
        (1 / log2(3)) / 1,  # -1, 1
    )
    assert value(poor, "ndcg") == pytest.approx(sum(ndcg) / 3)
    assert value(good, "pearson_r") == pytest.approx(np.corrcoef([3, 5, 0.5], [8, 6, 1])[0, 1])
    assert (value(good, "median_top1_gain"), value(poor, "median_top1_gain")) == (6.0, -1.0)
    assert value(good, "share_of_best") == 1.0
    assert value(poor, "share_of_best") == pytest.approx((-4 + 0 - 1) / (8 + 6 + 1))
    assert (value(good, "win_rate"), value(poor, "win_rate")) == (1.0, 0.0)


def test_the_trivial_choices_stand_beside(table):
    random, best = table["baselines"]
    assert (random["model"], best["model"]) == (RANDOM, BEST)
    assert value(random, "top1_gain") == pytest.approx(((8 + 2 - 4) / 3 + (0 + 6 + 3) / 3 + (1 - 1) / 2) / 3)
    assert value(random, "topk_gain") == value(random, "top1_gain")
    assert value(random, "win_rate") == 0.5
    assert random["pearson_r"] is None
    assert value(best, "top1_gain") == 5.0
    assert value(best, "ndcg") == value(best, "share_of_best") == 1.0


def test_differences_from_the_best_baseline(table):
    good, poor = table["differences"]
    # chance is ahead of the poor one, and it has no correlation that could be compared
    assert good["top1_gain"]["against"] == RANDOM
    assert value(good, "top1_gain") == pytest.approx(5 - 5 / 3)
    assert good["top1_gain_ratio"]["value"] == pytest.approx(5 / (5 / 3))
    assert good["pearson_r"]["against"] == "poor"
    assert (poor["top1_gain"]["against"], "pearson_r" in poor) == (RANDOM, False)


def test_models_against_each_other(table):
    first, second = table["pairs"]
    assert (first["model"], first["against"], second["model"]) == ("good", "poor", "poor")
    assert (value(first, "win_rate"), value(second, "win_rate"), value(first, "equal")) == (1.0, 0.0, 0.0)
    assert value(first, "top1_gain") == pytest.approx(((8 + 4) + (6 - 0) + (1 + 1)) / 3) == -value(second, "top1_gain")


def test_what_is_counted(table):
    assert (table["n"], table["users"], table["resampled"]) == (3, 2, "users")
    alone = retrieval_table(choices(RECORDS[:2], good=GOOD[:2]), [], OPTIONS)
    assert (alone["n"], alone["users"], alone["resampled"]) == (2, 1, "requests")


def test_the_ratio_to_a_baseline_that_loses_says_nothing():
    (row,) = retrieval_table(choices([record([-1.0, -3.0])], only=[[1.0, 0.0]]), [], OPTIONS)["differences"]
    assert row["top1_gain"]["value"] == 1.0  # -1 rather than -2
    assert row["top1_gain_ratio"] is None


def test_there_is_no_share_of_a_best_that_loses():
    (row,) = retrieval_table(choices([record([-1.0, -3.0])], only=[[0.0, 1.0]]), [], OPTIONS)["models"]
    assert row["top1_gain"]["value"] == -3.0
    assert row["share_of_best"] is None


def test_a_score_that_never_changes_has_no_correlation():
    (row,) = retrieval_table(choices(RECORDS, same=[[1.0] * 3, [1.0] * 3, [1.0] * 2]), [], OPTIONS)["models"]
    assert row["pearson_r"] is None
    assert row["top1_gain"]["value"] == pytest.approx((-4 + 3 - 1) / 3)


def test_wins_count_equal_gains_a_half():
    assert wins([2.0, 1.0, 1.0], [1.0, 1.0, 2.0]) == [1.0, 0.5, 0.0]
    assert wins([0.1], [sum([0.1] * 3) / 3]) == [0.5]


TARGET = "one two three four"
WITH_TARGETS = [
    record([9.0, 2.0], "ann", target=TARGET, texts=[TARGET, "else"]),
    record([4.0, 5.0], "ben", target=TARGET, texts=["nothing", "alike"]),
    record([7.0], "cid", target=TARGET, texts=[TARGET]),
    record([3.0], "dan"),
]
SCORES = [[2.0, 1.0], [1.0, 2.0], [1.0], [1.0]]


def test_near_duplicates_are_set_aside():
    report = retrieval_report(choices(WITH_TARGETS, mine=SCORES), [], OPTIONS)
    assert report["models"][0]["top1_gain"]["value"] == (9 + 5 + 7 + 3) / 4
    aside = report["near_duplicates"]
    assert {name: aside[name] for name in list(aside)[:6]} == {
        "threshold": 0.5,
        "records_with_target": 3,
        "records_with_near_duplicates": 2,
        "documents_set_aside": 2,
        "records_left_without_documents": 1,
        "n": 2,
    }
    assert value(aside["models"][0], "top1_gain") == (2 + 5) / 2
    assert value(aside["baselines"][0], "top1_gain") == (2 + 4.5) / 2
    assert value(aside["baselines"][1], "share_of_best") == 1.0


def test_setting_aside_keeps_scores_with_their_documents():
    left, _ = set_aside(choices(WITH_TARGETS, mine=SCORES), 0.5)
    assert left.outcomes(k=1)["mine"][0].top_score == 1.0


def test_without_targets_there_is_no_second_table():
    report = retrieval_report(choices(RECORDS, good=GOOD), [], OPTIONS)
    assert report["near_duplicates"]["records_with_target"] == 0
    assert (report["near_duplicates"]["n"], report["near_duplicates"]["models"]) == (0, [])


def test_slices_by_the_words_of_the_request_and_the_documents():
    records = [record([float(words)] * size, request="w " * words) for words, size in ((1, 4), (5, 4), (9, 2))]
    report = retrieval_report(choices(records, mine=[[1.0] * 4, [1.0] * 4, [1.0] * 2]), [], OPTIONS)
    found = [(part["by"], part["low"], part["high"], part["n"]) for part in report["slices"]]
    assert found == [
        ("request_words", 1, 1, 1),
        ("request_words", 5, 5, 1),
        ("request_words", 9, 9, 1),
        ("documents", 2, 2, 1),
        ("documents", 4, 4, 2),
    ]
    gains = [part["models"][0]["top1_gain"]["value"] for part in report["slices"]]
    assert gains == [1.0, 5.0, 9.0, 9.0, (1 + 5) / 2]


def test_words_of_a_request_are_counted_where_no_blanks_part_them():
    records = [record([1.0] * 3, request="好" * signs) for signs in (2, 8, 18)]
    report = retrieval_report(choices(records, mine=[[1.0] * 3] * 3), [], OPTIONS)
    assert [part["low"] for part in report["slices"] if part["by"] == "request_words"] == [2, 5, 10]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_says_what_it_is(metric: Metric[Any]):
    assert metric.title
    assert metric.description
    assert metric.how
    assert metric.citation
    assert len({each.name for each in METRICS}) == len(METRICS)
