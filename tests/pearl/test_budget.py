from __future__ import annotations

from pearl.budget import Budget


def test_without_a_limit_it_goes_on():
    budget = Budget(None)
    assert budget.seconds_until(0.0) is None
    assert budget.until(0.0)()


def test_a_share_passes_after_its_part_of_the_time():
    now = [1000.0]
    budget = Budget(2.0, clock=lambda: now[0])
    assert budget.seconds_until(0.0) == 0.0
    assert not budget.until(0.0)()
    assert budget.seconds_until(0.5) == 60.0
    assert budget.until(0.5)()
    now[0] += 60.0
    assert budget.seconds_until(0.5) == 0.0
    assert not budget.until(0.5)()
    assert budget.seconds_until(1.0) == 60.0
    assert budget.elapsed_minutes() == 1.0


def test_a_step_that_comes_late_has_a_minute_all_the_same():
    now = [0.0]
    budget = Budget(3.0, clock=lambda: now[0])
    assert budget.minutes_until(1.0) == 3.0
    now[0] = 170.0
    assert budget.minutes_until(1.0) == 1.0
    assert Budget(None).minutes_until(1.0) is None
