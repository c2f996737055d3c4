"""The level is learned from what the head chooses, and kept where the score surely says more of the gain with it."""

from __future__ import annotations

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.history.signals import NAMES
from tests.conftest import head_of
from training.choose.measure import LEAST_REQUESTS
from training.data.records import Example
from training.fit.head import Anchor
from training.fit.level import LEAST_IN_A_LEAF, MOST, fit_level, level_of

CHOOSES, TELLS = NAMES.index("bm25_text"), NAMES.index("series")  # which document, and how much the best one helps
HEAD = head_of({"bm25_text": 1.0}, 0.0)
Y0, TAU = 10.0, 5.0
ANCHOR = Anchor(Y0, TAU)


def examples(number: int, seed: int, *, told: bool = True, most: float = 40.0) -> list[Example]:
    """Requests of four candidates. The head chooses the best one; ``told``: another signal says what that gains."""
    draw = np.random.default_rng(seed)
    made = []
    for place in range(number):
        signals = draw.random((4, len(NAMES)), np.float32)
        gain = most * draw.random()
        signals[:, TELLS] = gain / most if told else draw.random()
        gains = np.zeros(4, np.float32)
        gains[signals[:, CHOOSES].argmax()] = gain
        documents = tuple(Document(f"d{number}", "", 0.0) for number in range(4))
        user = f"u{place % 20}"
        made.append(Example(user, f"q{place}", Request("", 1.0), documents, gains, signals=signals, domain="mine"))
    return made


def test_what_tells_the_gain_is_learned_and_the_choice_stays():
    dev = examples(60, 1)
    fit = fit_level(HEAD, ANCHOR, examples(400, 0), dev, seed=0)
    assert fit.level is not None
    r = fit.report["pearson_r"]["mine"]
    assert abs(r["before"]) < 0.3 < 0.9 < r["after"]
    assert (fit.report["requests"], fit.report["kept"], fit.report["higher_in"]) == (400, True, 1.0)
    for example, scores in zip(dev, fit.dev_scores, strict=True):
        before = HEAD.logits(example.signals)
        assert scores - scores.max() == pytest.approx(before - before.max(), abs=1e-5)
    best = [float(scores.max()) for scores in fit.dev_scores]
    said, gained = np.array(best) * TAU + Y0, np.array([example.gains.max() for example in dev])
    assert np.abs(said - gained).mean() < 7  # nats; the mean of all gains is off by 10


@pytest.mark.parametrize(
    ("dev", "why"),
    [(examples(60, 1, told=False), "higher_in"), (examples(LEAST_REQUESTS - 1, 1), "requests")],
    ids=["no better than chance", "too few requests"],
)
def test_it_is_left_out_where_dev_does_not_show_it(dev, why):
    told = why == "requests"
    fit = fit_level(HEAD, ANCHOR, examples(400, 0, told=told), dev, seed=0)
    assert fit.level is None
    assert not fit.report["kept"]
    assert (fit.report["higher_in"] >= 0.9) == told
    assert fit.dev_scores[0].tolist() == HEAD.logits(dev[0].signals).tolist()


def test_a_text_that_quotes_another_whole_counts_as_a_large_gain_no_more():
    fit = fit_level(HEAD, ANCHOR, examples(400, 0, most=2_000.0), examples(60, 1, most=2_000.0), seed=0)
    assert fit.level is not None
    assert fit.level.value.max() <= (MOST - Y0) / TAU


def test_its_trees_say_what_those_of_the_library_say():
    from sklearn.ensemble import RandomForestRegressor

    draw = np.random.default_rng(0)
    inputs = np.round(draw.random((1_000, 6), np.float32), 2)  # many equal ones, so that thresholds are met
    gains = inputs[:, 0] * 30 + draw.normal(size=1_000)
    forest = RandomForestRegressor(n_estimators=7, min_samples_leaf=LEAST_IN_A_LEAF, random_state=0).fit(inputs, gains)
    level = level_of(forest, ANCHOR)
    expected = (forest.predict(inputs) - Y0) / TAU
    assert [level.score(row) for row in inputs] == pytest.approx(expected.tolist(), abs=1e-4)


def test_fewer_requests_than_a_leaf_takes():
    fit = fit_level(HEAD, ANCHOR, examples(5, 0), examples(40, 1), seed=0)
    assert fit.level is None
