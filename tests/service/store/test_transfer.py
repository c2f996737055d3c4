from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from pearl.errors import InputError, StoreError
from pearl.records import Document
from service.store import documents, transfer, users
from service.store.database import Database
from service.store.documents import Addition
from tests.filled import contents, fill

TIMEOUT_S = 10.0


@pytest.fixture
def other(database: Database, request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """An empty database of the other kind."""
    if database.is_sqlite:
        make: Callable[[str], str] = request.getfixturevalue("postgres_databases")
        url = make("template1")
    else:
        url = f"sqlite:///{tmp_path / 'other' / 'pearl.db'}"
    made = Database(url, timeout_s=TIMEOUT_S)
    yield made
    made.close()


def test_everything_goes_across_and_back(database: Database, other: Database, tmp_path: Any) -> None:
    fill(database)
    before = contents(database)
    assert all(before.values()), "there is something in every table"
    transfer.check_usable(other)
    other.migrate()
    advanced: list[int] = []
    counts = transfer.copy_all(database, other, advanced.append)
    assert contents(other) == before
    assert counts == {name: len(rows) for name, rows in before.items()}
    assert sum(advanced) == sum(counts.values()) == transfer.rows_of(database)
    back = Database(f"sqlite:///{tmp_path / 'back.db'}", timeout_s=TIMEOUT_S)
    back.migrate()
    transfer.copy_all(other, back)
    assert contents(back) == before
    back.close()


def test_nulls_stay_nulls(database: Database, other: Database) -> None:
    fill(database)
    other.migrate()
    transfer.copy_all(database, other)
    with other.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM voices WHERE k IS NULL")) == 1
        with_null = connection.scalar(text("SELECT count(*) FROM drafts WHERE revision IS NULL"))
    with database.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM drafts WHERE revision IS NULL")) == with_null


def test_numbers_go_on_and_never_come_back(database: Database, other: Database) -> None:
    fill(database)
    with database.write() as connection:
        newest = users.ensure(connection, {"late"})["late"].id
        users.remove(connection, newest)
    other.migrate()
    transfer.copy_all(database, other)
    with other.write() as connection:
        assert users.ensure(connection, {"new"})["new"].id > newest
        assert documents.add(connection, [Addition(1, Document("n", "New.", 3.0))]) == [documents.AddOutcome.CREATED]


def test_a_target_that_is_not_empty(database: Database, other: Database) -> None:
    fill(database)
    other.migrate()
    transfer.check_usable(other)
    transfer.copy_all(database, other)
    before = contents(other)
    for refuse in (lambda: transfer.check_usable(other), lambda: transfer.copy_all(database, other)):
        with pytest.raises(InputError, match=r"The target is not empty: there are rows in .*users"):
            refuse()
    assert contents(other) == before


def test_a_database_of_another_program(other: Database) -> None:
    with other.write() as connection:
        connection.execute(text("CREATE TABLE shoes (size INTEGER)"))
    with pytest.raises(InputError, match="tables of another program"):
        transfer.check_usable(other)


def test_nothing_is_half_written(sqlite_database: Database, postgres_url: str) -> None:
    """PostgreSQL refuses a NUL character in the last table that holds a text."""
    fill(sqlite_database)
    with sqlite_database.write() as connection:
        connection.execute(text("UPDATE drafts SET request = 'a' || char(0) || 'b'"))
    target = Database(postgres_url, timeout_s=TIMEOUT_S)
    with pytest.raises(StoreError, match=r"A row of 'drafts' cannot be copied \(DataError\); nothing was written\."):
        transfer.copy_all(sqlite_database, target)
    transfer.check_usable(target)
    target.close()
