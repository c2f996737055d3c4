from __future__ import annotations

import numpy as np
import pytest

from pearl.stats.bootstrap import Bootstrap
from training.choose.measure import ASKED, better_in, floor_of, floors, helps_of, measure, measure_domains, qualities


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
    mean, fits = measure_domains(scores, gains, ["chat", "mail", "chat", "chat"])
    assert fits == {
        "chat": measure([scores[0], *scores[2:]], [gains[0], *gains[2:]]),
        "mail": measure(scores[1:2], gains[1:2]),
    }
    assert mean.top1_gain == pytest.approx(((10 + 1 + 12) / 3 + 4) / 2)
    assert mean.share == pytest.approx((fits["chat"].share + 1.0) / 2)
    assert measure_domains(scores, gains, [""] * 4)[0] == measure(scores, gains)


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
