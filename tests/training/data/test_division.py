from __future__ import annotations

import pytest

from pearl.errors import InputError
from pearl.history.split import DEV, TEST, TRAIN
from training.data.split import BY_TIME, Division


def test_as_it_should_be(make_examples):
    found = {TRAIN: make_examples(3), DEV: make_examples(2)}
    division = Division.of(found)
    assert (division.learned, division.asked, division.notes) == (TRAIN, DEV, ())
    assert (division.train, division.dev) == (found[TRAIN], found[DEV])


@pytest.mark.parametrize(
    ("there", "learned", "asked", "notes"),
    [((TRAIN,), TRAIN, TRAIN, 1), ((TRAIN, DEV), TRAIN, DEV, 0), ((DEV,), DEV, DEV, 2), ((TEST,), TEST, TEST, 2)],
)
def test_where_a_split_has_none(make_examples, there, learned, asked, notes):
    division = Division.of({split: make_examples(1) if split in there else [] for split in (TRAIN, DEV, TEST)})
    assert (division.learned, division.asked, len(division.notes)) == (learned, asked, notes)
    assert len(division.train) == len(division.dev) == 1


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match=r"not counting copies of it; give more history\.") as caught:
        Division.of({TRAIN: [], DEV: []})
    assert caught.value.code == "nothing_to_learn"
    with pytest.raises(InputError, match=r"the budget ended before one was scored; give more minutes\."):
        Division.of({TRAIN: [], DEV: []}, {TRAIN})


def test_where_the_budget_ended_the_note_does_not_speak_of_documents(make_examples):
    some = make_examples(1)
    division = Division.of({TRAIN: some, DEV: [], TEST: []}, {DEV})
    assert division.notes[0].startswith("the budget ended before a user was scored to choose by: y0, tau")
    division = Division.of({TRAIN: [], DEV: some, TEST: []}, {TRAIN})
    assert division.notes[0].startswith("the budget ended before a user was scored of the training split: learned")
    assert division.notes[1].startswith("no other user is left to choose by")
    division = Division.of({TRAIN: [], DEV: some, TEST: []}, {TEST})
    assert division.notes[0].startswith("no user of the training split has enough documents: learned")


def test_by_time_the_notes_speak_of_texts(make_examples):
    some = make_examples(1)
    division = Division.of({TRAIN: some, DEV: []}, way=BY_TIME)
    assert division.notes == (
        "no later text is left to choose by: y0, tau and early stopping were chosen on the same texts",
    )
    division = Division.of({TRAIN: [], DEV: some}, {TRAIN}, BY_TIME)
    assert division.notes[0].startswith("the budget ended before a request was scored of the training split: learned")
