"""The best candidate by reward, and the candidates that may not be chosen."""

from __future__ import annotations

import numpy as np
import pytest

from pearl.records import TextScores
from pearl.style.editing.best_of import Balance, select


def rewards(**scores):
    return lambda texts: np.array([scores[text] for text in texts], float)


def likenesses(**known):
    return lambda texts: [known[text] for text in texts]


def test_the_best_by_reward_wins_and_those_below_the_draft_are_dropped():
    found = select("d", ["a", None, "b", "c", "b"], rewards(d=5, a=4, b=7, c=6))
    assert found.draft == TextScores(5.0)
    assert found.scores == (TextScores(4.0), None, TextScores(7.0), TextScores(6.0), TextScores(7.0))
    assert found.dropped == {0: "below_draft"}
    assert found.best == 2
    assert found.random in (2, 3, 4)


def test_the_random_control_is_drawn_anew_for_each_draft():
    drawn = [select(f"draft {place}", ["a", "b", "c"], lambda texts: np.ones(len(texts))).random for place in range(20)]
    assert set(drawn) == {0, 1, 2}
    assert drawn[3] == select("draft 3", ["a", "b", "c"], lambda texts: np.ones(len(texts))).random


@pytest.mark.parametrize("texts", [[], [None], ["a"], ["e"]])
def test_the_draft_stays_where_nothing_is_better(texts):
    assert select("d", texts, rewards(d=5, a=4, e=5)).best is None


def test_every_text_is_scored_once():
    asked = []

    def count(texts):
        asked.extend(texts)
        return np.arange(len(texts), dtype=float)

    select("d", ["a", "a", "d"], count)
    assert asked == ["d", "a"]


def test_a_better_candidate_that_is_less_likely_theirs_never_wins():
    quality, theirs = rewards(d=5, a=10, b=6), likenesses(d=0.8, a=0.69, b=0.71)
    found = select("d", ["a", "b"], quality, theirs, Balance(weight=0.0, margin=0.1))
    assert found.dropped == {0: "less_likely_theirs"}
    assert found.best == 1


def test_likeness_counts_with_its_weight():
    quality, theirs = rewards(d=5, a=7, b=6), likenesses(d=0.5, a=0.45, b=0.9)
    assert select("d", ["a", "b"], quality, theirs, Balance(weight=0.0)).best == 0
    # (1 - w)(q - 1)/9 + w l: .7 * 6/9 + .3 * .45 = .602 and .7 * 5/9 + .3 * .9 = .659
    assert select("d", ["a", "b"], quality, theirs, Balance(weight=0.3)).best == 1


@pytest.mark.parametrize(
    ("quality", "theirs", "best"),
    [
        ({"d": 5, "a": 5.1}, {"d": 0.9, "a": 0.81}, None),  # the gain in quality is outweighed
        ({"d": 5, "a": 6}, {"d": None, "a": 0.1}, 0),  # the draft is too short to say: quality alone counts
        ({"d": 5, "a": 9}, {"d": 0.5, "a": None}, None),  # the candidate became so
    ],
)
def test_quality_and_likeness_are_weighed(quality, theirs, best):
    assert select("d", ["a"], rewards(**quality), likenesses(**theirs), Balance(weight=0.5)).best == best
