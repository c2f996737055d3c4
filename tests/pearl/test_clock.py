from __future__ import annotations

import time

import pytest

from pearl.clock import Budget, Clock


def test_stages_add_up():
    clock = Clock()
    for _ in range(2):
        with clock.stage("read_ms"):
            time.sleep(0.005)
    with pytest.raises(KeyError), clock.stage("failed_ms"):
        raise KeyError
    read = clock.read()
    assert set(read) == {"read_ms", "failed_ms", "total_ms"}
    assert read["total_ms"] >= read["read_ms"] >= 10


def test_a_stage_that_is_under_way_counts_up_to_now():
    clock = Clock()
    with clock.stage("record_ms"):
        time.sleep(0.005)
        assert clock.read()["record_ms"] >= 5
        time.sleep(0.005)
    assert clock.read()["record_ms"] >= 10


def test_late_when_the_limit_has_passed():
    assert not Clock().is_late
    assert not Clock(60_000).is_late
    clock = Clock(5)
    time.sleep(0.006)
    assert clock.is_late
    assert (clock.left_s, Clock().left_s) == (0.0, -1.0)
    assert 30 < Clock(60_000).left_s <= 60
    assert not clock.cut_short  # that is for whoever leaves something out to say


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
