from __future__ import annotations

from collections import Counter

import pytest

from pearl.errors import InputError
from pearl.history.split import DEV, SHARES, SPLITS, TEST, TRAIN, split_of, users_of
from pearl.records import Document

USERS = [f"user{number:04d}" for number in range(2000)]


def test_shares_are_about_what_they_should_be():
    counts = Counter(split_of(user) for user in USERS)

    assert sum(SHARES.values()) == pytest.approx(1)
    for name in SPLITS:
        assert counts[name] / len(USERS) == pytest.approx(SHARES[name], abs=0.04)


def test_a_user_stays_where_they_are_when_others_come():
    few = {user: [Document("a", "text")] for user in USERS[:20]}
    many = {user: [Document("a", "text")] for user in reversed(USERS)}

    for name in SPLITS:
        assert set(users_of(few, name)) == set(users_of(many, name)) & set(few)


def test_every_user_is_in_one_split_and_none_means_all():
    histories = {user: [Document("a", "text")] for user in USERS[:50]}

    assert sorted(user for name in (TRAIN, DEV, TEST) for user in users_of(histories, name)) == sorted(histories)
    assert users_of(histories, None) == histories


def test_a_split_that_is_not_there():
    with pytest.raises(InputError, match="no split 'tset'; there are train, dev, test"):
        users_of({}, "tset")
