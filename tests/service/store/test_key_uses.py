from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from pearl.errors import StoreError
from service.store import keys
from service.store.database import Database
from service.store.keys import KeyUses


@pytest.fixture
def key_id(sqlite_database: Database) -> str:
    with sqlite_database.write() as connection:
        keys.create_for_user(connection, "ann")
        return keys.list_all(connection)[0].id


def last_use(database: Database) -> float | None:
    with database.read() as connection:
        return keys.list_all(connection)[0].last_used_at


def test_a_use_is_written_once_a_minute(sqlite_database: Database, key_id: str) -> None:
    uses = KeyUses(sqlite_database)
    uses.flush()
    assert last_use(sqlite_database) is None
    for now, written in ((1000.0, 1000.0), (1010.0, 1000.0), (1059.0, 1000.0), (1060.0, 1060.0)):
        uses.note(key_id, now)
        uses.flush()
        assert last_use(sqlite_database) == written


def test_noting_writes_nothing(sqlite_database: Database, key_id: str) -> None:
    uses = KeyUses(sqlite_database)
    uses.note(key_id, 1000.0)
    assert last_use(sqlite_database) is None


def test_what_another_process_wrote_later_stays(sqlite_database: Database, key_id: str) -> None:
    one, other = KeyUses(sqlite_database), KeyUses(sqlite_database)
    one.note(key_id, 1000.0)
    other.note(key_id, 2000.0)
    other.flush()
    one.flush()
    assert last_use(sqlite_database) == 2000.0


def test_a_use_is_not_lost_while_the_database_is_locked(sqlite_url: str) -> None:
    database = Database(sqlite_url, timeout_s=0.1)
    with database.write() as connection:
        keys.create_for_user(connection, "ann")
        key_id = keys.list_all(connection)[0].id
    uses = KeyUses(database)
    uses.note(key_id, 1000.0)
    other = sqlite3.connect(str(database.engine.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError):
        uses.flush()
    other.close()
    uses.flush()
    assert last_use(database) == 1000.0
    database.close()


def test_a_call_over_http_is_a_use(pearl: Any) -> None:
    ann = pearl.as_user("ann")
    assert ann.get("/v1/voices").status_code == 200
    pearl.services.sweep()
    with pearl.database.read() as connection:
        (used,) = [key for key in keys.list_all(connection) if key.user == "ann"]
    assert used.last_used_at is not None
