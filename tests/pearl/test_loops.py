from __future__ import annotations

import random

import pytest

from pearl.loops import LoopFilter
from tests.pieces import split

LOOPED = (
    "Three asks:\n1) Send me the survey.\n2) Put us down for Thursday, please.\n3) Put us down for Thursday, please.\n"
    "4) Put us down for Thursday, please.\n\nMind the tide,\nOtti"
)
ONCE = "Three asks:\n1) Send me the survey.\n2) Put us down for Thursday, please.\n\nMind the tide,\nOtti"
CLOSED = "- the shed is closed on Mondays\n\n"
QUAY = "1. We met on the old quay.\n"


@pytest.mark.parametrize(
    ("draft", "left", "cut"),
    [
        (LOOPED, ONCE, 2),
        (CLOSED * 2, CLOSED + "\n", 1),
        (QUAY + "2. We met on the old quay.\n3. We met on the old", QUAY, 2),  # broken off at the limit
        # not repeated
        *(
            (draft, draft, 0)
            for draft in (
                "Thank you.\nThank you.\nBo",
                "1. Ask Bo to wait for us.\n2. Ask Bo to wait for them.",
                "Row the boat to the quay.\nNo.\nRow the boat to the quay.",
                "12",
                "",
            )
        ),
    ],
)
def test_lines_that_repeat_the_one_before_are_cut(draft: str, left: str, cut: int) -> None:
    chance = random.Random(draft)
    for pieces in ([draft], list(draft), *(split(draft, chance) for _ in range(50))):
        found = LoopFilter()
        assert ("".join(map(found.feed, pieces)) + found.finish(), found.cut) == (left, cut)


def test_only_a_line_that_may_repeat_is_held_back() -> None:
    found = LoopFilter()
    assert found.feed("1) We met on the quay.\n") == "1) We met on the quay.\n"
    assert found.feed("2) We met") == ""
    assert found.feed(" at") == "2) We met at"
    assert found.feed(" home") == " home"
