from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from retriever.history.copies import SEEN_WORDS, CopyIndex
from retriever.history.lexical import hashed_words


def index(*texts: str) -> CopyIndex:
    return CopyIndex(hashed_words(texts))


def alike(count: int) -> Any:
    return np.ones(count, np.float32)


def test_a_text_does_not_stand_for_the_target_against_itself():
    alone = index("one two three").copies(alike(1))
    assert [alone.similar.tolist(), alone.most.tolist(), alone.share.tolist()] == [[0], [0], [0]]
    twins = index(*["one two three"] * 2).copies(alike(2))
    assert twins.similar.tolist() == pytest.approx([math.log1p(3)] * 2)  # one two, two three, all three
    assert twins.share.tolist() == pytest.approx([1.0] * 2)


def test_an_ngram_counts_once_however_often_it_is_there():
    found = index("a b a b", "a b x a b a").copies(alike(2))
    assert found.most.tolist() == pytest.approx([math.log1p(3)] * 2)  # ab, ba, aba


def test_a_pair_is_another_the_other_way_round():
    assert index("a b", "b a").copies(alike(2)).most.tolist() == [0, 0]


def test_words_far_down_a_text_do_not_count():
    filler = " ".join(f"w{number}" for number in range(SEEN_WORDS))
    assert index(f"{filler} the end", "the end").copies(alike(2)).most.tolist() == [0, 0]


def test_an_ngram_does_not_reach_from_one_text_into_the_next():
    assert index("a b", "c d", "b c").copies(alike(3)).most.tolist() == [0, 0, 0]


def test_each_text_and_the_one_before():
    found = index("one two", "one two three", "x", "one two three")
    assert found.neighbours.tolist() == pytest.approx([0, math.log1p(1), 0, 0])
    assert found.series == pytest.approx(math.log1p(1) / 4)


def test_the_closer_text_counts_for_more():
    """Of "a b c", with "a b c d" and "a b": three n-grams and one, weighed by exp(likeness / 0.2)."""
    found = index("a b c", "a b c d", "a b").copies(np.array([0.0, 0.6, 0.4], np.float32))
    near, far = 1.0, math.exp(-0.2 / 0.2)
    expected = (near * math.log1p(3) + far * math.log1p(1)) / (near + far)
    assert found.similar[0] == pytest.approx(expected)
    assert found.share[0] == pytest.approx(math.expm1(expected) / 3)
