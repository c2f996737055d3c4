from __future__ import annotations

import random

import pytest

from pearl.text.answers.loops import LoopFilter
from tests.pieces import split

LOOPED = (
    "Three asks:\n1) Send me the survey.\n2) Put us down for Thursday, please.\n3) Put us down for Thursday, please.\n"
    "4) Put us down for Thursday, please.\n\nMind the tide,\nOtti"
)
ONCE = "Three asks:\n1) Send me the survey.\n2) Put us down for Thursday, please.\n\nMind the tide,\nOtti"
CLOSED = "- the shed is closed on Mondays\n\n"
QUAY = "1. We met on the old quay.\n"


FRAME = "The {0} is also used to {0} the board and set its type. "
CLAUSE = "and it is a theory of the {} and of nothing else at all, "
NAMES = ("load", "read", "boot", "stop")
TWICE = "".join(map(FRAME.format, NAMES[:2]))
DEALS = [f"{number} - Gas Daily + .199 " for number in range(72340, 72370)]


@pytest.mark.parametrize(
    ("draft", "left", "cut", "ended"),
    [
        (LOOPED, ONCE, 2, False),
        (CLOSED * 2, CLOSED, 1, False),
        (QUAY + "2. We met on the old quay.\n3. We met on the old", QUAY, 2, False),  # broken off at the limit
        ("We met on the old quay. We met on the old quay. Bo", "We met on the old quay. Bo", 1, False),
        (
            "私たちは古い埠頭で会いました。私たちは古い埠頭で会いました。では。",
            "私たちは古い埠頭で会いました。では。",
            1,
            False,
        ),
        # circles
        ("Hm. " + "".join(map(FRAME.format, NAMES)), f"Hm. {TWICE}", 0, True),
        ("Hm, " + "".join(map(CLAUSE.format, NAMES)), "Hm, " + "".join(map(CLAUSE.format, NAMES[:2])), 0, True),
        (TWICE + "The stop is also used to", TWICE, 0, True),
        # counting on, in a line and in lines
        *((blank.join(DEALS), blank.join(DEALS[:8]), 0, True) for blank in (" ", "\n")),
        # neither
        *(
            (draft, draft, 0, False)
            for draft in (
                "Thank you.\nThank you.\nBo",
                "1. Ask Bo to wait for us.\n2. Ask Bo to wait for them.",
                "Row the boat to the quay.\nNo.\nRow the boat to the quay.",
                TWICE + "Then we go home and wait for the rest of you.",
                " ".join(DEALS[:7]).strip(),
                "0 1 2 3 4 5 6 7 8 9 10 11 12",
                "12",
                "",
            )
        ),
    ],
)
def test_what_says_the_same_again_is_cut_and_a_circle_ends_the_draft(draft, left, cut, ended):
    chance = random.Random(draft)
    for pieces in ([draft], list(draft), *(split(draft, chance) for _ in range(50))):
        found = LoopFilter()
        text = "".join(map(found.feed, pieces)) + found.finish()
        assert (text, found.cut, found.ended) == (left.rstrip(), cut, ended)


def test_only_a_line_that_may_repeat_is_held_back():
    found = LoopFilter()
    assert found.feed("1) We met on the quay.\n") == "1) We met on the quay."
    assert found.feed("2) We met") == ""
    assert found.feed(" at") == "\n2) We met at"
    assert found.feed(" home") == " home"
