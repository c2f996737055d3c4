from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retriever.history.lexical import hashed_words
from retriever.history.postings import Postings
from retriever.history.ragged import word_hashes

TEXTS = ["the wheel the", "", "a wheel", "the tide the tide"]


def postings(texts: list[str]) -> Postings:
    found = hashed_words(texts)
    return Postings(found.values, found.owners(), len(texts))


def hits(texts: Postings, *words: str) -> dict[tuple[str, int], int]:
    """How often each word is in each document."""
    found = texts.find(word_hashes(words))
    assert found.found.sum() == len(found.places)
    return {
        (words[place], int(document)): int(count)
        for place, document, count in zip(found.places, found.documents, found.counts, strict=True)
    }


def test_where_words_are_and_how_often():
    assert hits(postings(TEXTS), "the", "wheel", "nowhere") == {
        ("the", 0): 2,
        ("the", 3): 2,
        ("wheel", 0): 1,
        ("wheel", 2): 1,
    }
    assert postings(TEXTS).find(word_hashes(["the", "nowhere", "the"])).found.tolist() == [2, 0, 2]
    assert hits(postings(TEXTS)) == {}


@pytest.mark.parametrize("texts", [[], [""], ["", "?"]])
def test_without_a_word_nothing_is_found(texts):
    empty = postings(texts)
    assert hits(empty, "the") == {}
    assert empty.find(word_hashes(["the"])).terms().tolist() == [0] * len(texts)
    assert empty.different().tolist() == [0] * len(texts)
    assert empty.spread().sum() == 0
    assert hits(empty.shared(), "the") == {}


def test_counts():
    found = postings(TEXTS)
    assert found.different().tolist() == [2, 0, 2, 2]
    assert found.spread().tolist() == [0, 2, 2, 0, 0]  # a, tide; the, wheel
    wanted = found.find(word_hashes(["the", "wheel"]))
    assert wanted.terms().tolist() == [2, 0, 1, 1]
    assert wanted.sums(np.array([1.0, 10.0], np.float32)).tolist() == [11, 0, 10, 1]


def test_what_is_in_one_document_only_can_be_forgotten():
    found = postings(TEXTS)
    assert hits(found.shared(), "the", "wheel", "a", "tide") == hits(found, "the", "wheel")
    assert hits(found, "a") == {("a", 2): 1}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 9, 1023, 1024])
def test_any_number_of_documents(size):
    """The positions take up as many bits as they need: no document may be taken for one of another term."""
    generator = np.random.default_rng(size)
    vocabulary = word_hashes(f"word{number}" for number in range(50))
    words = generator.integers(0, 50, (size, 5))
    found = Postings(vocabulary[words].ravel(), np.repeat(np.arange(size), 5), size)
    own: list[Any] = [set(row.tolist()) for row in words]
    assert found.different().tolist() == [len(each) for each in own]
    assert found.find(vocabulary[:7]).terms().tolist() == [len(each & set(range(7))) for each in own]
    before = [set(), *own[:-1]]
    assert found.shared_with_the_one_before().tolist() == [
        len(one & other) for one, other in zip(own, before, strict=True)
    ]
