"""Log-odds with a Dirichlet prior, against the paper's formula by hand."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from pearl.style.manner.usual_rates import PRIOR_WORDS, distinctive_words, word_counts


def test_the_score_is_the_papers_formula():
    own, others, prior = Counter(tea=8, cup=2), Counter(tea=2, cup=8), PRIOR_WORDS / 2
    tea, cup = distinctive_words(own, others)
    ratio = math.log((8 + prior) / (2 + prior)) - math.log((2 + prior) / (8 + prior))
    assert tea.word == "tea"
    assert tea.log_odds == pytest.approx(ratio)
    assert tea.z == pytest.approx(ratio / math.sqrt(1 / (8 + prior) + 1 / (2 + prior)))
    assert (tea.count, tea.other_count, tea.rate, tea.other_rate) == (8, 2, 80, 20)
    assert cup.z == pytest.approx(-tea.z)


def test_a_rare_word_weighs_little():
    own = Counter(tea=50, once=1, the=500)
    others = Counter(tea=5, the=500)
    uses = {use.word: use for use in distinctive_words(own, others)}
    assert uses["tea"].z > 3 > 1 > uses["once"].z > 0 > uses["the"].z


def test_nothing_against_nothing_is_nothing():
    assert distinctive_words({}, {}) == []
    assert distinctive_words({"a": 1}, {}) == []
    assert distinctive_words({"a": 1, "b": 1}, {})[0].other_rate == 0


def test_words_are_counted_in_small_letters_without_numbers():
    assert word_counts(["Tea, tea and 2 TEAS", "Don’t v2"]) == {"tea": 2, "and": 1, "teas": 1, "don't": 1}
