from __future__ import annotations

import pytest

from eval.recorded.style.people import Subject, read_people
from pearl.errors import InputError


def rating(label, rater="r1", item="text 1", **fields):
    return {"item": item, "style": "storytelling", "rater": rater, "label": label} | fields


def test_ratings_are_counted(write_lines, corrected):
    lines = [
        rating("very"),
        rating("not", "r2"),
        rating("not", "r3"),
        rating("a_much", item="pair 1"),
        rating("tie", "r2", "pair 1"),
    ]
    people = read_people(write_lines(lines))
    assert people.ratings[Subject("detection", "text 1", "storytelling")] == {"very": 1, "not": 2}
    assert (people.lines, people.raters) == (5, 3)
    assert people.labels(corrected) == {
        Subject("detection", "text 1", "storytelling"): "absent",
        Subject("ranking", "pair 1", "storytelling"): None,
    }
    assert people.scale("detection", corrected) == ("not", "somewhat", "very")


def test_labels_instead_of_levels(write_lines, corrected):
    people = read_people(write_lines([rating("cant_tell"), rating("present", "r2"), rating("present", "r3")]))
    assert people.scale("detection", corrected) == ("absent", "present")
    assert list(people.labels(corrected).values()) == ["present"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([rating("very"), rating("not")], ":2: rater: 'r1' rated the item 'text 1' on line 1 already."),
        ([rating("a lot")], ":1: label: must be one of not, somewhat, very, cant_tell"),
        ([rating(3)], ":1: label: must be one of"),
        ([rating("very"), rating("present", "r2")], ":2: label: 'present' is of the labels, and line 1 has one of the"),
        ([{"item": "text 1", "label": "very"}], ":1: rater: is missing; the line has item, label."),
        ([rating("very", justification=1)], ":1: justification: must be a string"),
        ([], ": there is no rating in it."),
    ],
)
def test_bad_ratings(write_lines, lines, said):
    path = write_lines(lines)
    with pytest.raises(InputError) as raised:
        read_people(path)
    assert raised.value.message.startswith(f"{path}{said}")


def test_a_missing_rating_is_counted(write_lines):
    lines = [rating("very"), rating(None, "r2"), rating("NA", "r3"), rating("", "r4")]
    people = read_people(write_lines(lines))
    assert (people.lines, people.raters, people.missing) == (1, 1, 3)


def test_one_rater_may_rate_one_item_in_two_ways(write_lines):
    lines = [rating("very"), rating("very", style="journalistic"), rating("a_much")]
    assert len(read_people(write_lines(lines)).ratings) == 3
