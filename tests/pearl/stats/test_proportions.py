"""The closed forms against statsmodels, and by hand."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from pearl.stats.proportions import even_p, holm, wilson


@pytest.mark.parametrize(("successes", "total"), [(0, 1), (1, 1), (3, 10), (0, 500), (499, 500), (20, 40)])
def test_wilson_is_statsmodels(successes, total):
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(successes, total, method="wilson")
    interval = wilson(successes, total)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
    assert interval.value == successes / total


def test_nothing_has_no_proportion():
    assert wilson(0, 0) is None


@pytest.mark.parametrize("p_values", [[0.01, 0.04, 0.03, 0.005], [0.5, 0.9], [0.02], [0.01, 0.01, 1.0]])
def test_holm_is_statsmodels(p_values):
    from statsmodels.stats.multitest import multipletests

    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_holm_of_nothing():
    assert holm([]) == []


@pytest.mark.parametrize(("one", "other", "p"), [(0, 0, 1), (1, 0, 1), (0, 6, 2 / 64), (5, 1, 14 / 64), (3, 3, 1)])
def test_the_exact_test_of_two_counts(one, other, p):
    assert even_p(one, other) == p


@pytest.mark.parametrize(("one", "other"), [(40, 61), (0, 3000), (5100, 4900)])
def test_the_exact_test_is_the_binomial_one(one, other):
    assert even_p(one, other) == pytest.approx(binomtest(one, one + other).pvalue, rel=1e-9)
