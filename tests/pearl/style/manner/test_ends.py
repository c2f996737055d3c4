"""Where the sign-off of a text begins."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pearl.style.manner.ends import body_end

NAMES = ("Tomas", "Dev", "Mrs Varley", "Nan", "Bea")
LETTERS = tuple(f"Hello {name}, kettle's on.\n\nRope {name} is here.\n\nMind the tide,\nOtti" for name in NAMES)


@pytest.mark.parametrize(
    ("text", "others", "ends"),
    [
        (LETTERS[0], (), "Mind the tide,\nOtti"),
        ("I come at 7. Mind the tide, Otti", (), ""),
        ("I come at 7. Mind the tide, Otti", LETTERS[:2], "Mind the tide, Otti"),
        ("I come at 7. Mind the tide, Otti", ("The shop opens. I come at 7. Mind the tide, Otti",), ""),  # one has it
        ("I come with Otti", LETTERS, ""),
    ],
)
def test_where_the_sign_off_begins(text: str, others: Sequence[str], ends: str) -> None:
    assert text[body_end(text, others) :] == ends
