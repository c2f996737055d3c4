from __future__ import annotations

from math import log2

import numpy as np
import pytest

from eval.retrieval.choices import ChoiceOutcome, ages, best_outcome, ndcg, random_outcome, ranked_outcome
from pearl.records import Document

GAINS = np.array([4.0, -2.0, 1.0, 0.0])
AGES = np.arange(4.0)
IDEAL = 4 / log2(2) + 1 / log2(3)  # a gain below zero counts as none


def test_an_outcome_by_hand():
    outcome = ranked_outcome(np.array([0.1, 0.9, 0.5, 0.2]), GAINS, AGES, k=3)  # in the order -2, 1, 0, 4
    assert outcome == ChoiceOutcome(
        top_score=0.9,
        top1_gain=-2.0,
        topk_gain=pytest.approx((-2 + 1 + 0) / 3),
        ndcg=pytest.approx((1 / log2(3) + 4 / log2(5)) / IDEAL),
        best=4.0,
        mean=pytest.approx((4 - 2 + 1 + 0) / 4),
    )


def test_fewer_documents_than_k():
    assert ranked_outcome(np.array([1.0, 2.0]), np.array([4.0, 6.0]), AGES[:2], k=3).topk_gain == 5.0


def test_of_equal_scores_the_newest_is_chosen():
    scores = np.array([1.0, 1.0, 1.0, 0.0])
    assert ranked_outcome(scores, GAINS, AGES, k=1).top1_gain == 1.0
    assert ranked_outcome(scores, GAINS, AGES[::-1], k=1).top1_gain == 4.0


def test_the_best_possible():
    outcome = best_outcome(GAINS, k=2)
    assert (outcome.top1_gain, outcome.topk_gain, outcome.ndcg, outcome.top_score) == (4.0, 2.5, 1.0, 4.0)


def test_what_is_expected_of_chance_is_the_mean_of_many_chances():
    generator = np.random.default_rng(0)
    drawn = [ranked_outcome(generator.random(4), GAINS, AGES, k=2) for _ in range(4000)]
    expected = random_outcome(GAINS)
    for field in ("top1_gain", "topk_gain", "ndcg", "best", "mean"):
        mean = np.mean([getattr(outcome, field) for outcome in drawn])
        assert getattr(expected, field) == pytest.approx(mean, abs=0.12), field
    assert np.isnan(expected.top_score)


@pytest.mark.parametrize("gains", [[-1.0, -2.0], [0.0, 0.0]])
def test_where_no_document_helps_the_order_is_worth_nothing(gains):
    assert ndcg(np.array(gains)) == 0.0
    assert random_outcome(np.array(gains)).ndcg == 0.0


def test_ages_are_times_or_else_places():
    timed = [Document("a", "", 30.0), Document("b", "", 10.0), Document("c", "", 20.0)]
    assert ages(timed).tolist() == [2, 0, 1]
    assert ages([*timed, Document("d", "")]).tolist() == [0, 1, 2, 3]
    assert ages([Document("a", "", 5.0), Document("b", "", 5.0)]).tolist() == [0, 1]
