from __future__ import annotations

import time

import pytest

from pearl.clock import Clock


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
