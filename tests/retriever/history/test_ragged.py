from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import pytest

from retriever.history.lexical import hashed_words, words
from retriever.history.ragged import Ragged, letter_triples, pairs_and_triples, ranges, word_hashes

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


TEXTS = ["one two three two one two", "one", "", "one two", "שלום \U0001f600 עולם אחד", "two one one one"]


def test_every_different_pair_and_triple_has_a_hash_of_its_own():
    hashes, owners = pairs_and_triples(hashed_words(TEXTS))
    expected = []
    for size in (2, 3):
        for place, text in enumerate(TEXTS):
            tokens = words(text)
            expected += [(place, tuple(tokens[i : i + size])) for i in range(len(tokens) - size + 1)]
    assert owners.tolist() == [place for place, _ in expected]
    by_hash = dict(zip(hashes.tolist(), (ngram for _, ngram in expected), strict=True))
    assert [by_hash[found] for found in hashes.tolist()] == [ngram for _, ngram in expected]
    assert len(by_hash) == len({ngram for _, ngram in expected})


@pytest.mark.parametrize("texts", [["ab", "", "abc a", "日本語", "\U0001f600a"], [""], []])
def test_every_different_run_of_letters_has_a_hash_of_its_own(texts):
    hashes, owners = letter_triples(texts)
    expected = [
        (place, f" {text} "[start : start + 3]) for place, text in enumerate(texts) for start in range(len(text))
    ]
    assert owners.tolist() == [place for place, _ in expected]
    by_hash = dict(zip(hashes.tolist(), (run for _, run in expected), strict=True))
    assert [by_hash[found] for found in hashes.tolist()] == [run for _, run in expected]
    assert len(by_hash) == len({run for _, run in expected})


def test_hashes_use_all_bits():
    """Postings keep the upper ones; letters alone would leave them empty."""
    many = sorted(f"{one}{two}" for one, two in pairwise("abcdefghijklmnopqrstuvwxyz" * 3))
    for found in (letter_triples(many)[0], word_hashes(many)):
        upper = {value >> 48 for value in found.tolist()}
        assert len(upper) > 0.9 * len(set(found.tolist()))
