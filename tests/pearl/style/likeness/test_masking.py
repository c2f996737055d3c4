from __future__ import annotations

import pytest

from pearl.style.likeness.masking import Masking, characters, distinct

MASKING = Masking(frozenset({"the", "don't", "is", "so"}))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The tide is in", "The kettle is hot", True),  # topic does not show
        ("The tide", "the tide", False),  # capitals do
        ("so is Ann", "so is Dev", True),
        ("so is ann", "so is Dev", False),
        ("so is DEV", "so is Dev", False),
        ("don’t", "don't", True),
        ("at 10:30", "at 9:15", True),
        ("so, is", "so; is", False),
        ("so\n\nis", "so\nis", False),  # a paragraph is manner
        ("so\nis", "so is", True),  # where lines are wrapped is not
        ("für", "fu\u0308r", True),
        ("हिन्दी", "उन्होंने", True),  # one word each, not scraps between its marks
        ("今天好", "我们去", True),
        ("今天好", "今天", False),
    ],
)
def test_masking_keeps_manner_and_takes_topic(one, other, same):
    assert (MASKING.tokens(one).tolist() == MASKING.tokens(other).tolist()) is same


def test_the_vocabulary_is_what_several_authors_use_often():
    texts = {
        "ann": ["the tide so", "the tide so", "the tide", "tide"],
        "dev": ["the kettle", "the so", "so"],
        "eve": ["the end"],
    }
    assert Masking.of(texts, least_authors=2).vocabulary == {"the", "so"}
    assert Masking.of(texts, size=1).vocabulary == {"the"}


def test_the_share_of_known_words():
    assert MASKING.known_share("The tide, so 10 times!") == 0.5
    assert MASKING.known_share("1, 2!") == 0.0


def test_characters_leave_wrapping_out():
    assert characters("so\nis").tolist() == characters("so is").tolist()
    assert characters("so \n \n is").tolist() == characters("so¶is").tolist()
    assert characters("\ud800").tolist() == characters("?").tolist()  # half of a pair is no error


def test_texts_are_told_apart_by_their_words():
    assert distinct(["One  text.", "One text.", " ", "Two."]) == ["One text.", "Two."]


def test_a_run_of_blanks_takes_linear_time(grows_linearly):
    grows_linearly(characters, " ", 30_000)
