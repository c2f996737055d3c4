from __future__ import annotations

import math

import numpy as np
import pytest

from eval.recorded.corrected import fixed_sequence, trusted_from, upper_bound


def steps(certainty, wrong, risk=0.1, confidence=0.95):
    return list(fixed_sequence(np.array(certainty, float), np.array(wrong, bool), risk, confidence))


def test_clopper_and_pearsons_bound():
    assert upper_bound(0, 29, 0.95) == pytest.approx(1 - 0.05 ** (1 / 29))
    assert upper_bound(5, 5, 0.95) == 1


def test_thresholds_are_tested_from_the_top_until_one_fails():
    # 40 right at 90; at 80 two of 30 wrong, at 70 all of 10; at 60 all are right again, which comes too late
    certainty = [90] * 40 + [80] * 30 + [70] * 10 + [60] * 100
    wrong = [0] * 40 + [1] * 2 + [0] * 28 + [1] * 10 + [0] * 100
    found = steps(certainty, wrong)
    assert [(step.certainty, step.labelled, step.wrong) for step in found] == [(90, 40, 0), (80, 70, 2), (70, 80, 12)]
    assert trusted_from(found, 0.1).certainty == 80


def test_too_few_items_at_the_top_are_passed_over():
    """29 without an error are the fewest that show an error of at most 10% at 95%."""
    assert math.ceil(math.log(0.05) / math.log(0.9)) == 29
    found = steps([99] * 28 + [90] * 1, [0] * 29)
    assert [step.certainty for step in found] == [90]
    assert steps([99] * 28, [0] * 28) == []


def test_no_threshold_reaches_it():
    found = steps([90] * 50, [1] * 10 + [0] * 40)
    assert len(found) == 1
    assert trusted_from(found, 0.1) is None


def test_items_without_a_certainty_reach_no_threshold():
    found = steps([90] * 40 + [math.nan] * 40, [0] * 40 + [1] * 40)
    assert (found[-1].labelled, found[-1].wrong) == (40, 0)


def test_the_promise_is_broken_seldom():
    """At every certainty the judge is wrong a little more often than wanted: at most one calibration in twenty says
    otherwise, however many thresholds are tried."""
    generator, broken = np.random.default_rng(0), 0
    for _ in range(400):
        certainty = generator.integers(1, 20, 150) * 5
        broken += trusted_from(steps(certainty, generator.random(150) < 0.101), 0.1) is not None
    assert broken <= 0.05 * 400 + 8  # two standard errors and more
