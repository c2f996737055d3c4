"""How most texts of a person begin and end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pearl.manner.ends import body_end, edges
from pearl.records import Document

NAMES = ("Tomas", "Dev", "Mrs Varley", "Nan", "Bea")
LETTERS = tuple(f"Hello {name}, kettle's on.\n\nRope {name} is here.\n\nMind the tide,\nOtti" for name in NAMES)


def documents(texts: Sequence[str]) -> list[Document]:
    return [Document(f"d{number}", text, float(number)) for number, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("texts", "greeting", "sign_off"),
    [
        (LETTERS, ("Hello …, kettle's on.", 5), ("Mind the tide, Otti", 5)),
        ((*LETTERS, "Dear Sir,\n\nno."), ("Hello …, kettle's on.", 5), ("Mind the tide, Otti", 5)),
        (
            [f"Hi Bea,\n\n{name} is late. Otti" for name in NAMES],
            ("Hi Bea,", 5),
            ("Otti", 5),
        ),  # a last word alone may be chance
        ([f"Hi {name}!\n\nWe meet.\n\nOtti" for name in NAMES], ("Hi …! We meet.", 5), ("We meet. Otti", 5)),
        ([f"Item: one {name}, found" for name in NAMES], ("Item: one …", 5), None),
        ([f"{name} is in." for name in NAMES], None, None),  # within a sentence
        ([f"The {name} rope, at {name}" for name in NAMES], None, None),
        (LETTERS[:4], None, None),  # too few
        ([], None, None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_words_that_most_texts_share(
    texts: Sequence[str], greeting: tuple[str, int] | None, sign_off: tuple[str, int] | None
) -> None:
    found = edges(documents(texts))
    assert [edge and (edge.text, edge.texts) for edge in found.values()] == [greeting, sign_off]


def test_an_edge_has_its_share_and_the_newest_texts() -> None:
    edge = edges(documents((*LETTERS, "Dear Sir,\n\nno.")))["sign_off"]
    assert edge is not None
    shown = edge.to_json()
    assert [example["id"] for example in shown["examples"]] == ["d4", "d3", "d2"]
    assert shown["examples"][0]["excerpt"].endswith("Mind the tide, Otti")
    assert (shown["texts"], shown["of"], shown["share"]["value"]) == (5, 6, round(5 / 6, 9))


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
