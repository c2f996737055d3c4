from __future__ import annotations

import pytest

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.partition import DEV, SPLITS, TEST, TRAIN, split_of
from training.data.split import BY_TIME, BY_USERS, DataSplit, way_of, written_in

USERS = [f"user{number:04d}" for number in range(2000)]


def texts(number: int) -> list[Document]:
    return [Document(f"d{place}", f"text {place}", float(place), "say it") for place in range(number)]


def test_by_users_where_every_split_has_one_with_enough():
    everybody = {user: texts(20) for user in USERS[:20]}
    assert way_of([everybody], dict.fromkeys(SPLITS, 5), 0) == BY_USERS
    assert way_of([everybody], dict.fromkeys(SPLITS, 5) | {DEV: 20}, 0) == BY_TIME
    assert way_of([{USERS[0]: texts(200)}], dict.fromkeys(SPLITS, 5), 0) == BY_TIME


def test_two_histories_count_together():
    of = {split: next(user for user in USERS if split_of(user) == split) for split in SPLITS}
    some, others = {of[TRAIN]: texts(20), of[DEV]: texts(20)}, {of[TEST]: texts(20)}
    assert way_of([some, others], dict.fromkeys(SPLITS, 5), 0) == BY_USERS
    assert way_of([some], dict.fromkeys(SPLITS, 5), 0) == BY_TIME


def test_by_time_a_split_learns_from_nothing_later():
    history = {"ann": list(reversed(texts(20)))}
    found = {split: [each.id for each in written_in(history, split, BY_TIME, 0)["ann"]] for split in SPLITS}
    assert found[TRAIN] == [f"d{place}" for place in range(12)]
    assert (found[DEV][-1], found[TEST][-1]) == ("d15", "d19")
    assert written_in(history, None, BY_TIME, 0) == history


def test_as_it_should_be(make_examples):
    found = {TRAIN: make_examples(3), DEV: make_examples(2)}
    division = DataSplit.of(found)
    assert (division.learned, division.asked, division.notes) == (TRAIN, DEV, ())
    assert (division.train, division.dev) == (found[TRAIN], found[DEV])


@pytest.mark.parametrize(
    ("there", "learned", "asked", "notes"),
    [((TRAIN,), TRAIN, TRAIN, 1), ((TRAIN, DEV), TRAIN, DEV, 0), ((DEV,), DEV, DEV, 2), ((TEST,), TEST, TEST, 2)],
)
def test_where_a_split_has_none(make_examples, there, learned, asked, notes):
    division = DataSplit.of({split: make_examples(1) if split in there else [] for split in (TRAIN, DEV, TEST)})
    assert (division.learned, division.asked, len(division.notes)) == (learned, asked, notes)
    assert len(division.train) == len(division.dev) == 1


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match=r"not counting copies of it; give more history\."):
        DataSplit.of({TRAIN: [], DEV: []})
    with pytest.raises(InputError, match=r"the budget ended before one was scored; give more minutes\."):
        DataSplit.of({TRAIN: [], DEV: []}, {TRAIN})


def test_where_the_budget_ended_the_note_does_not_speak_of_documents(make_examples):
    some = make_examples(1)
    division = DataSplit.of({TRAIN: some, DEV: [], TEST: []}, {DEV})
    assert division.notes[0].startswith("the budget ended before a user was scored to choose by: y0, tau")
    division = DataSplit.of({TRAIN: [], DEV: some, TEST: []}, {TRAIN})
    assert division.notes[0].startswith("the budget ended before a user was scored of the training split: learned")
    assert division.notes[1].startswith("no other user is left to choose by")
    division = DataSplit.of({TRAIN: [], DEV: some, TEST: []}, {TEST})
    assert division.notes[0].startswith("no user of the training split has enough documents: learned")


def test_by_time_the_notes_speak_of_texts(make_examples):
    some = make_examples(1)
    division = DataSplit.of({TRAIN: some, DEV: []}, way=BY_TIME)
    assert division.notes == (
        "no later text is left to choose by: y0, tau and early stopping were chosen on the same texts",
    )
    division = DataSplit.of({TRAIN: [], DEV: some}, {TRAIN}, BY_TIME)
    assert division.notes[0].startswith("the budget ended before a request was scored of the training split: learned")
