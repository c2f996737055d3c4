from __future__ import annotations

from itertools import pairwise

import pytest

from retriever.history.hashes import letter_triples, pairs_and_triples, word_hashes
from retriever.history.lexical import hashed_words, words

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
