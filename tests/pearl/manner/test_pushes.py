"""The push of edits, by hand."""

from __future__ import annotations

import pytest

from pearl.manner.rates import pushes
from pearl.stats.proportions import holm


def test_traits_that_edits_change_come_with_interval_and_corrected_p() -> None:
    pairs = [("All is well! Truly!", "All is well. Truly.")] * 9 + [("So it is", "So it is")]
    found = pushes(pairs)
    first = found[0]
    assert (first.name, first.raised, first.lowered) == ("exclamations", 0, 9)
    assert (first.draft, first.sent) == (pytest.approx(100 * 18 / 39), 0)
    assert first.difference.low < first.difference.value == -first.draft < 0
    assert [push.p_corrected for push in found] == holm([push.p_value for push in found])
    assert first.to_json()["difference"]["value"] == pytest.approx(-first.draft)


def test_few_pairs_say_nothing() -> None:
    assert pushes([("Well!", "Well.")] * 4) == []
    assert pushes([("Same.", "Same.")] * 9) == []
