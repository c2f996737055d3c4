from __future__ import annotations

import numpy as np
import pytest

from service.calibrating.calibrating import choose_option
from service.calibrating.study import combined


def test_what_is_better_is_chosen_and_its_gain_is_held_out() -> None:
    draw = np.random.default_rng(0)
    values = draw.normal(size=(40, 5)) * 0.1
    values[:, 3] += 1.0
    choice = choose_option(values)
    assert (choice.index, choice.best) == (3, 3)
    gain = choice.gain(values).interval
    assert gain is not None
    assert gain.low < 1.0 < gain.high + 0.05


def test_the_best_of_many_by_chance_is_seldom_chosen() -> None:
    """Of 200 draws without any difference, each with 20 options."""
    draw = np.random.default_rng(1)
    chosen = [choose_option(draw.normal(size=(30, 20))).index for _ in range(200)]
    assert np.count_nonzero(chosen) <= 20


def test_of_equal_options_the_default_stays() -> None:
    choice = choose_option(np.ones((30, 4)))
    assert (choice.index, choice.best) == (0, 0)


def test_each_metric_counts_in_its_own_spread() -> None:
    narrow, wide = np.array([[0.50, 0.51], [0.50, 0.51]]), np.array([[10.0, 0.0], [10.0, 0.0]])
    together = combined({"narrow": narrow, "wide": wide, "constant": np.ones((2, 2))})
    # a spread of 0.005 and one of 5: what one gains, the other loses
    assert together[:, 0] == pytest.approx(together[:, 1])
