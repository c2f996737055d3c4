from __future__ import annotations

from pearl.history.split import DEV, SPLITS, TEST, TRAIN, split_of
from pearl.records import Document
from training.data.split import BY_TIME, BY_USERS, way_of, written_in

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
