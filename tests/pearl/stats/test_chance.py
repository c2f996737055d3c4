from __future__ import annotations

import numpy as np
import pytest

from pearl.stats.bootstrap import Floats
from pearl.stats.chance import exchange_p, permutation_p_value


def total(sums: Floats) -> Floats:
    return sums[:, 0]


def column(*values: float) -> Floats:
    return np.array(values)[:, None]


def test_what_is_better_for_all_is_seldom_chance():
    default = column(*[1.0] * 10)
    share = permutation_p_value(default, [default, default + 0.5], total, range(10))
    assert share == pytest.approx(1 / 2**10, abs=0.003)


def test_a_p_value_is_two_sided_and_not_small_for_few_users():
    default = column(*[1.0] * 12)
    assert exchange_p(default + 0.5, default, total, range(12)) == pytest.approx(2 / 2**12, abs=0.003)
    assert exchange_p(default, default + 0.5, total, range(12)) == exchange_p(default + 0.5, default, total, range(12))
    assert exchange_p(default + 0.5, default, total, [user % 3 for user in range(12)]) == pytest.approx(1 / 4, abs=0.05)
    assert exchange_p(default, default, total, range(12)) == 1.0


def test_records_of_one_user_count_once():
    default = column(*[1.0] * 10)
    names = ["ann"] * 5 + ["bob"] * 5
    assert permutation_p_value(default, [default + 0.5], total, names) == pytest.approx(1 / 4, abs=0.03)


def test_the_best_of_many_is_held_against_the_best_of_as_many():
    draw = np.random.default_rng(0)
    chosen = 0
    for _ in range(100):
        default = draw.normal(size=(30, 1))
        settings = [default + draw.normal(size=(30, 1)) for _ in range(20)]
        chosen += permutation_p_value(default, settings, total, range(30)) <= 0.05
    assert chosen <= 12


@pytest.mark.parametrize("settings", [[], [column(1.0, 0.0)], [column(0.0, 0.0)]])
def test_what_gains_nothing_is_all_chance(settings):
    assert permutation_p_value(column(1.0, 0.0), settings, total, range(2)) == 1.0


def test_a_figure_that_is_no_mean():
    """One that is undefined for some exchanges gains nothing there."""
    default, setting = np.tile([[0.0, 1.0]], (8, 1)), np.tile([[1.0, 0.0]], (8, 1))
    share = permutation_p_value(
        default, [setting], lambda sums: np.where(sums[:, 0] == 4, np.nan, sums[:, 0]), range(8)
    )
    assert share == pytest.approx(1 / 2**8, abs=0.01)
