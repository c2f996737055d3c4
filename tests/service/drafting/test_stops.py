from __future__ import annotations

import random

import pytest

from service.drafting.stops import StopFilter
from tests.pieces import split


@pytest.mark.parametrize(
    ("text", "stops", "kept"),
    [
        ("one two three", (), "one two three"),
        ("one two three", ("two",), "one "),
        ("one two three", ("three", "two"), "one "),
        ("one\n\ntwo", ("\n",), "one"),
        ("one\n\ntwo", ("\n\n\n",), "one\n\ntwo"),
        ("aaab", ("aab",), "a"),
        ("ends in a piece of a sto", ("stop",), "ends in a piece of a sto"),
        ("stop", ("stop",), ""),
        ("xabcd", ("abcd", "bc"), "xa"),
    ],
)
def test_a_text_ends_before_its_first_stop_however_it_is_split(text: str, stops: tuple[str, ...], kept: str) -> None:
    chance = random.Random(text)
    for _ in range(50):
        stop = StopFilter(stops)
        assert "".join(stop.feed(piece) for piece in split(text, chance)) + stop.finish() == kept
        assert stop.ended == (kept != text)
