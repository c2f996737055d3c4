from __future__ import annotations

from eval.stats.slices import slices


def test_three_slices_of_equally_many():
    found = slices("words", [9, 1, 5, 2, 8, 4])
    assert [(part.by, part.low, part.high, part.among.tolist()) for part in found] == [
        ("words", 1, 2, [False, True, False, True, False, False]),
        ("words", 4, 5, [False, False, True, False, False, True]),
        ("words", 8, 9, [True, False, False, False, True, False]),
    ]


def test_equal_values_stay_together():
    found = slices("words", [1, 1, 1, 1, 7])
    assert [(part.low, part.high, int(part.among.sum())) for part in found] == [(1, 1, 4), (7, 7, 1)]
    assert slices("words", [3, 3, 3]) == []
    assert slices("words", [3]) == []
