from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from pearl.errors import StoreError
from service.store import documents, erasures, user_counts, users, voices
from service.store.database import Database
from service.store.tables import metadata

SECRET = "the heron ate my brake cable"
SOON_S = 0.05


def on_disk(folder: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes() for path in folder.glob("pearl.db*"))


def dead_rows(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(text("SELECT pg_relation_size('documents')")).scalar_one()


@pytest.fixture
def owed(rows: Callable[[str], list[Any]]) -> Callable[[], int]:
    return lambda: len(rows("erasures"))


def test_while_a_reader_is_open_an_erasure_is_owed(database: Database, ann: Any, owed: Any) -> None:
    ann.add(*(f"{SECRET} {number}" for number in range(300)))
    with database.read() as reader:
        assert user_counts.count_documents(reader, ann.id) == 300
        with database.write() as connection:
            users.remove(connection, ann.id)
        assert not database.forget_deleted(within_s=SOON_S)
        assert not database.erase_owed()
        assert owed() == 1
        assert user_counts.count_documents(reader, ann.id) == 300
    assert database.erase_owed()
    assert owed() == 0


def test_nothing_of_it_is_left_afterwards(database: Database, tmp_path: Path, ann: Any) -> None:
    def left() -> bool:
        return on_disk(tmp_path) if database.is_sqlite else dead_rows(database) > 0

    ann.add(*(f"{SECRET} {number}" for number in range(300)))
    with database.read() as reader:
        user_counts.count_documents(reader, ann.id)
        with database.write() as connection:
            users.remove(connection, ann.id)
        assert not database.forget_deleted(within_s=SOON_S)
        assert left()
    assert database.erase_owed() if database.is_sqlite else database.forget_deleted()
    assert not left()


def test_a_reader_that_ends_in_time_is_waited_for(database: Database, ann: Any, at_once: Any, owed: Any) -> None:
    ann.add(SECRET)
    reading, deleted = threading.Event(), threading.Event()

    def read() -> None:
        with database.read() as reader:
            user_counts.count_documents(reader, ann.id)
            reading.set()
            assert deleted.wait(60)

    def remove() -> bool:
        assert reading.wait(60)
        ann.remove("d1")
        deleted.set()
        return database.forget_deleted(within_s=60)

    assert at_once([read, remove]) == [None, True]
    assert owed() == 0


def test_it_is_owed_after_a_restart_too(database: Database, ann: Any, owed: Any) -> None:
    ann.add(SECRET)
    ann.remove("d1")  # and the process is killed
    assert owed() == 1
    again = Database(database.engine.url.render_as_string(hide_password=False))
    assert again.erase_owed()
    assert again.erase_owed()
    again.close()
    assert owed() == 0


def test_a_deletion_that_is_taken_back_owes_nothing(database: Database, ann: Any, owed: Any) -> None:
    ann.add(SECRET)
    with database.engine.connect() as connection, connection.begin() as transaction:
        documents.remove(connection, ann.id, "d1")
        transaction.rollback()
    assert owed() == 0


def test_a_voices_instructions_are_erased_as_well(database: Database, ann: Any, owed: Any) -> None:
    with database.write() as connection:
        voices.put(connection, ann.id, "email", {"instructions": SECRET})
        voices.remove(connection, ann.id, "email")
    assert owed() == 1


def test_a_vacuum_that_fails_is_tried_again(postgres_url: str) -> None:
    database = Database(postgres_url, timeout_s=0.5)
    with database.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"]
    with database.write() as connection:
        users.remove(connection, ann.id)
    with database.engine.connect() as other, other.begin():
        other.exec_driver_sql("LOCK TABLE documents IN SHARE UPDATE EXCLUSIVE MODE")
        with pytest.raises(StoreError, match="locked"):
            database.forget_deleted()
    assert database.erase_owed()
    with database.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM erasures")) == 0
    database.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_indexes_are_cleaned_once_vacuum_reads_much_again(database: Database, ann: Any) -> None:
    """One page of 250 has a deleted row: VACUUM leaves the indexes, and reads that page every time."""
    ann.add(*(f"{number} {SECRET * 50}" for number in range(1, 1501)))
    ann.remove("d700")
    assert database.forget_deleted()

    def read_again() -> list[str]:
        with database.read() as connection:
            return erasures.read_again(connection, 0)

    assert read_again() == ["documents"]
    database.clean_indexes(read_again=1)
    assert read_again() == ["documents"]
    assert database.forget_deleted()
    database.clean_indexes(read_again=0)
    assert read_again() == []


def test_a_vacuum_is_of_every_table(postgres_url: str) -> None:
    database = Database(postgres_url)
    said: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *call: said.append(call[2]))
    assert database.forget_deleted()
    database.close()
    (vacuum,) = (statement for statement in said if statement.startswith("VACUUM"))
    assert set(vacuum.removeprefix("VACUUM ").split(", ")) == set(metadata.tables)
