"""Rates and their intervals, and the push of edits, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pearl.stats.proportions import holm, wilson
from pearl.style.manner.rates import Counts, edit_effects
from pearl.style.manner.traits import BY_NAME

TEXTS = ["One, two, three four.", "Five six?", "Seven, eight nine ten"]
TRAITS = tuple(BY_NAME[name] for name in ("words", "commas", "closing_question", "emojis", "semicolons"))


def test_a_rate_is_a_ratio_of_sums():
    words, commas, questions, *_ = Counts.of(TEXTS, TRAITS).rates()
    assert (words, commas, questions) == (10 / 3, 30, pytest.approx(1 / 3))


def test_intervals_hold_their_values_and_are_wilson_s_for_shares_of_texts():
    counts = Counts.of(TEXTS, TRAITS)
    words, commas, questions, emojis, _ = counts.intervals()
    assert words.low == 2
    assert words.low < words.value < words.high
    assert commas.low <= 30 <= commas.high
    assert questions == wilson(1, 3)
    assert emojis.value == emojis.low == 0
    assert emojis.high == pytest.approx(100 * wilson(0, 10).high)


def test_texts_with_nothing_to_rate_have_no_rate():
    counts = Counts.of(["...", "?"], TRAITS)
    assert np.isnan(counts.rates()[1])
    assert counts.intervals()[1] is None
    assert Counts.of([], TRAITS).intervals() == [None] * len(TRAITS)


def test_traits_that_edits_change_come_with_interval_and_corrected_p() -> None:
    pairs = [("All is well! Truly!", "All is well. Truly.")] * 9 + [("So it is", "So it is")]
    found = edit_effects(pairs)
    first = found[0]
    assert (first.name, first.raised, first.lowered) == ("exclamations", 0, 9)
    assert (first.draft, first.sent) == (pytest.approx(100 * 18 / 39), 0)
    assert first.difference.low < first.difference.value == -first.draft < 0
    assert [push.p_corrected for push in found] == holm([push.p_value for push in found])
    assert first.to_json()["difference"]["value"] == pytest.approx(-first.draft)


def test_few_pairs_say_nothing() -> None:
    assert edit_effects([("Well!", "Well.")] * 4) == []
    assert edit_effects([("Same.", "Same.")] * 9) == []
