from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pearl.stats.bootstrap import Bootstrap
from training.choose.measure import (
    ASKED,
    LEAST_REQUESTS,
    LeadOverBaseline,
    better_in,
    compare_with_baselines,
    floor_of,
    floors,
    helps_of,
    measure,
    measure_domains,
    qualities,
)


def rows(*values: list[float]) -> list[np.ndarray]:
    return [np.array(each, np.float32) for each in values]


def test_by_hand():
    fit = measure(rows([3, 1], [0, 2, 1], [5, 4]), rows([10, 20], [0, 4, 9], [12, 0]))
    assert fit.top1_gain == pytest.approx((10 + 4 + 12) / 3)
    assert fit.share == pytest.approx((10 + 4 + 12) / (20 + 9 + 12))
    assert fit.pearson_r == pytest.approx(np.corrcoef([3, 2, 5], [10, 4, 12])[0, 1])
    assert fit.quality == pytest.approx(fit.share + fit.pearson_r / 4)


def test_each_domain_counts_the_same():
    scores, gains = rows([3, 1], [0, 2], [2, 1], [5, 4]), rows([10, 20], [0, 4], [1, 9], [12, 0])
    mean = measure_domains(scores, gains, ["chat", "mail", "chat", "chat"])
    chat = measure([scores[0], *scores[2:]], [gains[0], *gains[2:]])
    assert mean.top1_gain == pytest.approx(((10 + 1 + 12) / 3 + 4) / 2)
    assert mean.share == pytest.approx((chat.share + 1.0) / 2)
    assert measure_domains(scores, gains, [""] * 4) == measure(scores, gains)


@pytest.mark.parametrize(
    ("scores", "gains"),
    [
        (rows([1, 2]), rows([3, 4])),  # one request
        (rows([1, 1], [1, 1]), rows([3, 4], [5, 6])),  # scores that say nothing
        (rows([1], [2]), rows([-3], [-4])),  # nothing to gain
        (rows([1], [2]), rows([0], [0])),
    ],
)
def test_where_there_is_nothing_to_measure(scores, gains):
    fit = measure(scores, gains)
    assert np.isfinite([fit.top1_gain, fit.share, fit.pearson_r, fit.quality]).all()


def test_a_resample_is_as_if_requests_were_repeated():
    scores, gains = rows([3, 1], [0, 2, 1], [5, 4], [1]), rows([10, 20], [0, 4, 9], [12, 0], [3])
    names = ["ann", "ben", "ann", "cid"]
    bootstrap = Bootstrap(names, resamples=50, seed=1)
    numbers = np.arange(4.0)[:, None] == np.arange(4.0)  # how often each request was drawn: sums of its own indicator
    _, drawn = bootstrap.totals(numbers.astype(float))
    expected = []
    for times in drawn.astype(int):
        repeated = np.repeat(np.arange(4), times)
        expected.append(measure([scores[place] for place in repeated], [gains[place] for place in repeated]).quality)
    assert len({tuple(times) for times in drawn}) > 5
    assert qualities(bootstrap, scores, gains) == pytest.approx(expected, rel=1e-5)


def test_how_sure_it_is_that_one_is_better():
    draw = np.random.default_rng(0)
    gains = [draw.normal(size=5).astype(np.float32) for _ in range(60)]
    users = [f"user{place // 2}" for place in range(60)]
    good, bad, worse = ([own + draw.normal(size=5) * noise for own in gains] for noise in (0.1, 1.0, 1.0))
    assert better_in(good, bad, gains, users, seed=0) > 0.99
    assert better_in(bad, good, gains, users, seed=0) < 0.01
    assert better_in(bad, bad, gains, users, seed=0) == 0
    assert 0.02 < better_in(bad, worse, gains, users, seed=0) < 0.98
    assert better_in(bad, worse, gains, users, seed=0) == better_in(bad, worse, gains, users, seed=0)


@pytest.mark.parametrize(
    ("scores", "gains", "floor"),
    [
        ([1, 2, 3, 4], [1, 1, 1, 1], None),  # all help
        ([1, 2, 3, 4], [-2, 1, 1, 5], 2.0),  # only the worst hinders
        ([4, 3, 2, 1], [5, 1, 1, -3], 2.0),  # the same in another order
        ([1, 2, 3, 4], [-2, -1, -1, 5], 4.0),
        ([1, 2, 3, 4], [-2, -1, -1, -5], 4.0),  # none helps: only the very best stays
        ([1, 2, 3, 4], [2, -1, -1, 5], 4.0),  # a fit that only rises gives the first three their mean, 0
        ([1], [1], None),
    ],
)
def test_the_floor_is_where_documents_begin_to_help(scores, gains, floor):
    assert floor_of(np.array(scores, np.float32), np.array(gains, np.float32)) == floor


def test_the_second_floor_is_reached_by_few_requests_of_each_kind_of_text():
    """400 requests of two documents each: the best score of a commit is 1 higher than that of a mail."""
    draw = np.random.default_rng(0)
    kinds = ["commits", "mail"] * 200
    scores = [(draw.normal(size=2) + (kind == "commits")).astype(np.float32) for kind in kinds]
    _, ask_below = floors(scores, [np.ones(2, np.float32)] * 400, kinds)
    assert ask_below is not None
    asked = [kind for own, kind in zip(scores, kinds, strict=True) if max(own) < ask_below]
    assert asked.count("mail") == ASKED * 200
    assert 0 <= asked.count("commits") < ASKED * 200


def test_where_all_documents_help_the_user_is_asked_all_the_same():
    scores = [np.array([place, -5.0], np.float32) for place in range(40)]
    assert floors(scores, [np.ones(2, np.float32)] * 40, ["mail"] * 40) == (None, 2.0)


def test_the_second_floor_of_a_few_requests_is_their_lowest_score():
    assert floors(rows([3], [2]), rows([-1], [1]), ["mail", "chat"]) == (3.0, 2.0)


def test_how_likely_a_document_helps():
    """Of 400 documents with score 1 three in four help, of those with -1 one in four: log-odds of log 3 and -log 3."""
    scores = np.repeat(np.array([1, -1], np.float32), 400)
    gains = np.array(([1, 1, 1, -1] * 100) + ([-1, -1, 1, -1] * 100), np.float32)
    helps = helps_of([scores[:300], scores[300:]], [gains[:300], gains[300:]])
    assert helps is not None
    assert helps.slope == pytest.approx(np.log(3), rel=1e-3)
    assert helps.intercept == pytest.approx(0, abs=1e-3)
    assert helps.probability(1) == pytest.approx(0.75, rel=1e-3)


@pytest.mark.parametrize(
    ("scores", "gains"), [([1, 2], [1, 1]), ([1, 2], [-1, -1]), ([1, 1], [1, -1]), ([1, 2], [1, -1])]
)
def test_scores_that_do_not_tell_whether_a_document_helps(scores, gains):
    assert helps_of([np.array(scores * 20, np.float32)], [np.array(gains * 20, np.float32)]) is None


GOOD = LeadOverBaseline(LEAST_REQUESTS, 23.3, "bm25", 18.2, 0.99, own=True)


@pytest.mark.parametrize(
    ("changed", "doubts"),
    [
        ({}, ()),
        ({"own": False}, ("nothing was left to choose by but what it was trained on",)),
        ({"requests": 29}, ("29 scored requests to choose by, fewer than 30",)),
        ({"requests": 1}, ("1 scored request to choose by, fewer than 30",)),
        (
            {"better_in": 0.9495, "top1_gain": 19.5},  # which is not 95%
            ("not surely better than bm25 on dev: 19.5 nats and 18.2, better in 94.95% of resamples",),
        ),
        (
            {"better_in": 0.81, "top1_gain": 18.5},
            ("not surely better than bm25 on dev: 18.5 nats and 18.2, better in 81% of resamples",),
        ),
        (
            {"better_in": 0.81, "top1_gain": 0.213, "baseline_top1_gain": 0.1984},  # means over the target's tokens
            ("not surely better than bm25 on dev: 0.213 nats and 0.198, better in 81% of resamples",),
        ),
    ],
)
def test_what_speaks_against_it(changed, doubts):
    assert replace(GOOD, **changed).doubts == doubts


def test_it_is_compared_with_the_best_baseline_on_the_same_requests(make_examples, word_encoder):
    """The gains are 10 and -1; a request names the topic, so BM25 finds it, and nothing can be surely better."""
    dev = make_examples(36)
    known = [example.gains for example in dev]
    best = compare_with_baselines(known, dev, word_encoder(), own=True, seed=0)
    assert (best.requests, best.top1_gain) == (36, 10.0)
    assert best.baseline_top1_gain == 10.0
    assert best.better_in == 0.0
    assert "not surely better than" in best.doubts[0]


def test_what_no_baseline_sees_is_surely_better(make_examples, word_encoder):
    dev = [replace(example, gains=np.roll(example.gains, 1)) for example in make_examples(36)]
    found = compare_with_baselines([example.gains for example in dev], dev, word_encoder(), own=True, seed=0)
    assert found.better_in == 1.0
    assert found.doubts == ()
