from __future__ import annotations

import pytest

from eval.judges.items import sampled
from eval.judges.pairwise import BOTH, RANDOM, orders


@pytest.mark.parametrize(("limit", "size"), [(None, 9), (9, 9), (20, 9), (4, 4), (1, 1)])
def test_a_sample_keeps_the_order(limit, size):
    chosen = sampled(range(9), limit, seed=3)
    assert list(chosen) == sorted(set(chosen))
    assert len(chosen) == size
    assert sampled(range(9), limit, seed=3) == chosen


def test_another_seed_is_another_sample():
    assert len({sampled(range(9), 4, seed) for seed in range(10)}) > 5


def test_both_orders():
    assert orders(BOTH, "a", 0, 0) == (False, True)


def test_one_order_each_run_as_often_as_the_other():
    drawn = [orders(RANDOM, f"item {place}", run, 0) for place in range(100) for run in range(3)]
    assert {len(each) for each in drawn} == {1}
    assert 120 < sum(each == (True,) for each in drawn) < 180
    assert drawn == [orders(RANDOM, f"item {place}", run, 0) for place in range(100) for run in range(3)]
