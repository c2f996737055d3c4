from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from retriever.history.ragged import Ragged, ranges

LISTS = [[1, 2, 3], [], [1, 2], [9, 2, 3], [2]]


def ragged(lists: list[list[int]]) -> Ragged:
    return Ragged.of(np.array([*chain(*lists)], np.uint64), [len(each) for each in lists])


def lists(found: Ragged) -> list[list[int]]:
    return [
        found.values[start : start + length].tolist() for start, length in zip(found.starts, found.lengths, strict=True)
    ]


def test_what_goes_in_is_in_it():
    assert lists(ragged(LISTS)) == LISTS
    assert lists(ragged([])) == []
    assert ragged(LISTS).owners().tolist() == [0, 0, 0, 2, 2, 3, 3, 3, 4]


@pytest.mark.parametrize("wanted", [[], [0], [4, 1, 0, 0], [1, 1]])
def test_some_of_them_in_another_order(wanted):
    assert lists(ragged(LISTS).take(np.array(wanted, np.intp))) == [LISTS[place] for place in wanted]
    assert lists(ragged(LISTS).take(np.array(wanted, np.intp), 2)) == [LISTS[place][:2] for place in wanted]


def test_one_after_the_other():
    assert lists(ragged(LISTS).followed_by(ragged([[], [7]]))) == [*LISTS, [], [7]]


def test_runs_stay_within_a_list():
    starts, owners = ragged(LISTS).runs(2)
    assert (starts.tolist(), owners.tolist()) == ([0, 1, 3, 5, 6], [0, 0, 2, 3, 3])
    assert [found.tolist() for found in ragged(LISTS).runs(4)] == [[], []]


@pytest.mark.parametrize(
    ("values", "beginnings", "ends"),
    [
        ([1, 2, 3], [3, 0, 2, 0, 0], [3, 0, 0, 2, 0]),
        ([1, 2], [2, 0, 2, 0, 0], [0, 0, 2, 0, 1]),
        ([2], [0, 0, 0, 0, 1], [0, 0, 1, 0, 1]),
        ([0, 1, 2, 3], [0, 0, 0, 0, 0], [3, 0, 0, 2, 0]),
        ([], [0] * 5, [0] * 5),
    ],
)
def test_what_lists_have_in_common_with_one(values, beginnings, ends):
    asked = np.array(values, np.uint64)
    assert ragged(LISTS).common_beginnings(asked).tolist() == beginnings
    assert ragged(LISTS).common_ends(asked).tolist() == ends


def test_ranges():
    assert ranges(np.array([5, 0, 7]), np.array([2, 0, 3])).tolist() == [5, 6, 7, 8, 9]
    assert ranges(np.array([], np.intp), np.array([], np.intp)).tolist() == []
