"""The closed forms against statsmodels, and by hand."""

from __future__ import annotations

import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from pearl.proportions import holm, normal_p, wilson


@pytest.mark.parametrize(("successes", "total"), [(0, 1), (1, 1), (3, 10), (0, 500), (499, 500), (20, 40)])
def test_wilson_is_statsmodels(successes, total):
    low, high = proportion_confint(successes, total, method="wilson")
    interval = wilson(successes, total)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
    assert interval.value == successes / total


def test_nothing_has_no_proportion():
    assert wilson(0, 0) is None


@pytest.mark.parametrize("p_values", [[0.01, 0.04, 0.03, 0.005], [0.5, 0.9], [0.02], [0.01, 0.01, 1.0]])
def test_holm_is_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_holm_of_nothing():
    assert holm([]) == []


def test_the_p_value_of_a_score():
    assert normal_p(1.959963984540054) == pytest.approx(0.05)
    assert normal_p(-1.959963984540054) == pytest.approx(0.05)
    assert normal_p(0) == 1
