from __future__ import annotations

import random

import pytest

from pearl.prompts import unfenced
from service.marks import MarkFilter, StopFilter

ANSWERS = [
    "",
    "   \n",
    "plain words",
    "  plain words with blanks around \n\n",
    "<document>\nin marks\n</document>",
    " \n <document>in marks</document> and what nobody asked for",
    "<document></document>",
    "<document>\n \n</document>late",
    "<document",
    "<documents> are not a mark",
    "<document>never closed\n",
    "no opening mark</document>rest",
    "a < b and </doc and </document and </docume nts>",
    "</document>",
    "</document>after the end<document>",
    "<document><document>twice</document></document>",
    "text <document>inside</document>",
    "one\n\n\ntwo   \n  \n</document>\n",
    "trailing blanks before half a mark   </docum",
    "\u2003wide blanks\u2003",
    "<document>\u2003\n wide blanks </document>",
    "<<document>>",
    "<document>héé </document> ☃",
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_any_split_gives_what_the_whole_gives(answer: str) -> None:
    chance = random.Random(answer)
    for _ in range(200):
        marks = MarkFilter()
        assert "".join(marks.feed(piece) for piece in split(answer, chance)) + marks.finish() == unfenced(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_letter_by_letter(answer: str) -> None:
    marks = MarkFilter()
    assert "".join(map(marks.feed, answer)) + marks.finish() == unfenced(answer)


def test_text_is_held_back_only_while_it_may_be_a_mark_or_blanks_at_the_end() -> None:
    marks = MarkFilter()
    assert marks.feed("<docu") == ""
    assert marks.feed("ment>One ") == "One"
    assert marks.feed("two <") == " two"
    assert marks.feed("b") == " <b"
    assert marks.feed(" </document>") == ""
    assert marks.feed("more") == ""
    assert marks.finish() == ""


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


def split(text: str, chance: random.Random) -> list[str]:
    places = sorted(chance.choices(range(len(text) + 1), k=chance.randint(0, 6)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
