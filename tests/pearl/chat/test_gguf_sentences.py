from __future__ import annotations

import pytest

from pearl.chat.gguf_chat import ends_before


@pytest.mark.parametrize(
    ("written", "following", "ends"),
    [
        ("The kettle is on.", " And", True),
        ("The kettle is on.", "\n", True),
        ("(Mind the tide!)", " And", True),
        ("Mind the tide,\n", "Otti", True),
        ("\u6f6e\u6c34\u6765\u4e86\u3002", "\u6211", True),
        ("\u300c\u6f6e\u6c34\u6765\u4e86\u3002", "\u300d", False),
        ("«Прилив пришёл.»", " Да", True),
        ("ज्वार आ गया है।", " हाँ", True),
        ("ज्वार आ गया है।", "।", False),
        ("ջուրը բարձր է։", " Այո", True),
        ("The kettle is on", " and", False),
        ("The kettle is", " on.", False),
        ("It costs 3.", "50", False),
        ("It costs 3.", " Or", False),  # may as well be the mark of a list
        ("A bicycle, e.g.", " one", False),
        ("Write to J.", " Pellow", False),
        ("See otti.", "example", False),
        ("", " ", False),
    ],
)
def test_where_a_sentence_or_a_line_ends(written: str, following: str, ends: bool) -> None:
    assert ends_before(written, following) is ends
