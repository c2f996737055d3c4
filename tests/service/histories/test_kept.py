from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection

from pearl.records import Document
from service.histories.kept import KeptByPerson
from service.store import users
from service.store.samples import Sample, newest_samples


class Lengths(KeptByPerson[int]):
    """The characters of a history; ``read`` lists the histories that were read."""

    def __init__(self, pearl: Any, most_bytes: int = 1000) -> None:
        self.read: list[int] = []
        self.stamp = 0
        super().__init__(
            pearl.database, self._read_texts, size=lambda _: 100, most_bytes=most_bytes, stamp=lambda *_: self.stamp
        )

    def _read_texts(self, connection: Connection, user_id: int, voice: str | None) -> Callable[[], int]:
        texts = [each.text for each in newest_samples(connection, user_id, voice, Sample())]
        self.read.append(user_id)
        return lambda: sum(map(len, texts))


@pytest.fixture
def ann(pearl: Any) -> int:
    pearl.add("ann", "One.", "Three.")
    return int(pearl.user("ann").id)


def test_of_many_calls_one_makes_it(pearl: Any, ann: int) -> None:
    kept = Lengths(pearl)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: kept.get(ann, None), range(20))) == {10}
    assert kept.read == [ann]


def test_it_is_made_again_when_the_history_or_the_stamp_changes(pearl: Any, ann: int) -> None:
    kept = Lengths(pearl)
    assert kept.get(ann, None) == 10
    pearl.add("ann", Document("d9", "More.", 2000.0))
    assert kept.get(ann, None) == 15
    kept.stamp = 1
    assert kept.get(ann, None) == 15
    assert len(kept.read) == 3


def test_the_least_recently_used_make_room_by_their_bytes(pearl: Any, ann: int) -> None:
    pearl.add("ben", "Two.")
    ben = pearl.user("ben").id
    kept = Lengths(pearl, most_bytes=100)
    for user in (ann, ben, ben, ann):
        kept.get(user, None)
    assert kept.read == [ann, ben, ann]
    assert kept.people == 1
    none = Lengths(pearl, most_bytes=99)
    assert none.get(ann, None) == 10
    assert none.people == 0


def test_nothing_of_the_deleted_stays(pearl: Any, ann: int) -> None:
    kept = Lengths(pearl)
    kept.get(ann, None)
    with pearl.database.write() as connection:
        users.remove(connection, ann)
    kept.sweep()
    assert kept.people == 0
