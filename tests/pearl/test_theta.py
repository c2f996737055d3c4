from __future__ import annotations

import json

import pytest

from pearl.theta import EVERYTHING, read_theta, score_words, theta_json, theta_words


@pytest.mark.parametrize(
    ("words", "theta", "stored", "said"),
    [
        ("never", None, None, "never"),
        ("all", EVERYTHING, "all", "all"),
        ("-1.25", -1.25, -1.25, "-1.25"),
        ("1e6", 1e6, 1e6, "1000000.00"),
    ],
)
def test_a_number_or_a_word(words, theta, stored, said):
    assert read_theta(words) == theta
    assert theta_json(theta) == stored
    assert theta_words(theta, 2) == theta_words(stored, 2) == said


def test_everything_lies_below_it_and_json_can_hold_it():
    assert EVERYTHING > 1e300
    assert json.loads(json.dumps(EVERYTHING, allow_nan=False)) == EVERYTHING


@pytest.mark.parametrize("words", ["", "often", "nan", "inf", "ALL"])
def test_neither(words):
    with pytest.raises(ValueError, match="neither a number nor 'never' or 'all'"):
        read_theta(words)


@pytest.mark.parametrize(
    ("score", "said"),
    [(0.005, "0.0050"), (-0.0007, "-0.00070"), (0.05, "0.050"), (0.3, "0.30"), (-1.257, "-1.26"), (0.0, "0.00")],
)
def test_a_small_score_keeps_two_digits_that_count(score, said):
    assert score_words(score, 2) == theta_words(score, 2) == said
