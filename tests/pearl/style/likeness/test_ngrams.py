from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from pearl.style.likeness.masking import Tokens
from pearl.style.likeness.ngrams import Grams, NgramModel

TEXTS = [[1, 2, 3, 1, 2, 4], [1, 2, 3], [5, 1, 2], [2, 2, 2, 3]]
ORDER, DISCOUNT, BASE = 3, 0.75, 0.1
PAD, END = 0, 99


def tokens(text: list[int]) -> Tokens:
    return np.array(text, np.uint64)


def slow_probability(texts: list[list[int]], context: tuple[int, ...], token: int, base: float) -> float:
    """Interpolated Kneser-Ney by the book, with dictionaries."""
    padded = [[PAD] * (ORDER - 1) + text + [END] for text in texts]
    counts: dict[int, Counter[tuple[int, ...]]] = {}
    counts[ORDER] = Counter(
        tuple(text[at - ORDER + 1 : at + 1]) for text in padded for at in range(ORDER - 1, len(text))
    )
    for length in range(ORDER - 1, 0, -1):
        counts[length] = Counter(gram[1:] for gram in counts[length + 1])  # the different words before it
    result = base
    for length in range(1, ORDER + 1):
        before = context[len(context) - length + 1 :]
        following = defaultdict(int, {gram[-1]: n for gram, n in counts[length].items() if gram[:-1] == before})
        if total := sum(following.values()):
            kinds = len(following)
            result = (max(following[token] - DISCOUNT, 0) + DISCOUNT * kinds * result) / total
    return result


def test_probabilities_are_those_of_the_slow_way():
    model = NgramModel.fit(Grams.of([tokens(text) for text in TEXTS], ORDER), DISCOUNT)
    asked = [1, 2, 4, 7, 2, 3]
    found = model.probabilities(Grams.of([tokens(asked)], ORDER), BASE)
    padded = [PAD, PAD, *asked, END]
    expected = [slow_probability(TEXTS, tuple(padded[at - 2 : at]), padded[at], BASE) for at in range(2, len(padded))]
    assert found == pytest.approx(expected)


def test_the_probabilities_of_all_continuations_sum_to_one():
    model = NgramModel.fit(Grams.of([tokens(text) for text in TEXTS], ORDER), DISCOUNT)
    words = [1, 2, 3, 4, 5]  # and the end
    grams = Grams.of([tokens([1, 2, word]) for word in words] + [tokens([1, 2])], ORDER)
    last = np.array([2, 6, 10, 14, 18, 22])  # the third place of each text, the end of the last
    assert model.probabilities(grams, 1 / 6)[last].sum() == pytest.approx(1.0)


def test_a_model_on_another_one_learns_what_the_person_does():
    model = NgramModel.fit(Grams.of([tokens([1, 2])], ORDER), DISCOUNT)
    grams = Grams.of([tokens([1, 2, 8])], ORDER)
    base = np.array([0.2, 0.2, 0.2, 0.2])
    found = model.probabilities(grams, base)
    assert (found[:2] > base[:2]).all()  # the person's own beginning
    assert found[2] < base[2]


def test_only_what_enough_authors_use_is_kept():
    grams = Grams.of([tokens([1, 2]), tokens([1, 3]), tokens([1, 3]), tokens([4])], ORDER)
    model = NgramModel.fit(grams, DISCOUNT, np.array([0, 1, 1, 2]), least=2)
    # two authors begin with 1, three end; 3 is one author's alone
    assert [len(level.grams) for level in model.levels] == [2, 1, 1]
    assert [len(level.contexts) for level in model.levels] == [1, 1, 1]
