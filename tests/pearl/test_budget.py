from __future__ import annotations

import time

import pytest

from pearl.budget import Budget


def test_without_a_limit_it_goes_on() -> None:
    budget = Budget(None)
    assert budget.seconds_until(0.0) is None
    assert budget.until(0.0)()


def test_a_share_passes_after_its_part_of_the_time() -> None:
    budget = Budget(0.2 / 60)  # a fifth of a second
    assert budget.seconds_until(0.0) == 0.0
    assert not budget.until(0.0)()
    left = budget.seconds_until(1.0)
    assert left is not None
    assert 0.0 < left <= 0.2
    assert budget.until(1.0)()
    time.sleep(0.21)
    assert budget.seconds_until(1.0) == 0.0
    assert not budget.until(1.0)()
    assert budget.elapsed_minutes() == pytest.approx(0.21 / 60, rel=0.5)
