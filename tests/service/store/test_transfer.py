from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, text

from pearl.errors import InputError, StoreError
from pearl.records import Document
from service.store import (
    calibrations,
    documents,
    drafts,
    embeddings,
    feedback,
    idempotency,
    imports,
    keys,
    profiles,
    transfer,
    users,
    voices,
)
from service.store.calibrations import CalibrationKey, StoredCalibration
from service.store.database import Database
from service.store.documents import Addition
from service.store.embeddings import text_key
from service.store.tables import metadata

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


def fill(database: Database, draft: Any) -> None:
    """Something in every table, with a gap in the numbers of users at the end."""
    with database.write() as connection:
        names = users.ensure(connection, {"ann", "bob", "gone"})
        ann = names["ann"].id
        additions = [
            Addition(ann, Document("a", "Grüße, 100% \U0001f600\r\n", 1.25, "What?", "email"), "import_1"),
            Addition(names["bob"].id, Document("a", "Milk.", 1_700_000_000.123456)),
        ]
        documents.add(connection, additions, template="message")
        documents.change_voice(connection, ann, "a", "letters")
        choice = profiles.LineChoice(profiles.CORRECTED, "Dashes, never semicolons.")
        profiles.put(connection, ann, profiles.StoredProfile("email", True, {"dashes": choice}))
        note = imports.ImportNote("import_1", ann, {"imported": 1})
        imports.record(connection, [note], importer="jsonl", source="/ä.jsonl")
        voices.put(connection, ann, "email", {"instructions": "Briefly.", "k": 3})
        embeddings.add(connection, ann, "words", {text_key("Grüße, 100% \U0001f600\r\n"): np.ones(3, np.float32)})
        drafts.add(connection, ann, draft("x"), request="q", instructions="", voice="email", model="m")
        drafts.add(connection, ann, draft("y"), request="r", instructions="", voice=None, model="m")
        feedback.add(connection, ann, "draft_x", "accepted", None)
        keys.create_for_user(connection, "ann", terms=keys.KeyTerms("laptop", 2_000_000_000.0))
        keys.create_for_service(connection, ("ann", "bob"))
        idempotency.begin(connection, idempotency.Call(ann, "key", "print", 60, 60))
        combination = CalibrationKey("email", "bm25", "m")
        calibrations.put(connection, ann, StoredCalibration("c", combination, {"threshold": None}, {"texts": 30}))
        users.remove(connection, names["gone"].id)  # owes an erasure, too


def contents(database: Database) -> dict[str, list[str]]:
    """Every row of every table as text, so that NULL and a JSON null differ."""
    with database.read() as connection:
        return {
            table.name: sorted(
                json.dumps(
                    {
                        column.name: value.hex() if isinstance(value, bytes) else value
                        for column, value in zip(table.columns, row, strict=True)
                    }
                )
                for row in connection.execute(select(table))
            )
            for table in metadata.sorted_tables
        }


def test_everything_goes_across_and_back(database: Database, other: Database, draft: Any, tmp_path: Any) -> None:
    fill(database, draft)
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


def test_nulls_stay_nulls(database: Database, other: Database, draft: Any) -> None:
    fill(database, draft)
    other.migrate()
    transfer.copy_all(database, other)
    with other.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM voices WHERE k IS NULL")) == 1
        with_null = connection.scalar(text("SELECT count(*) FROM drafts WHERE revision IS NULL"))
    with database.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM drafts WHERE revision IS NULL")) == with_null


def test_numbers_go_on_and_never_come_back(database: Database, other: Database, draft: Any) -> None:
    fill(database, draft)
    with database.write() as connection:
        newest = users.ensure(connection, {"late"})["late"].id
        users.remove(connection, newest)
    other.migrate()
    transfer.copy_all(database, other)
    with other.write() as connection:
        assert users.ensure(connection, {"new"})["new"].id > newest
        assert documents.add(connection, [Addition(1, Document("n", "New.", 3.0))]) == [documents.AddOutcome.CREATED]


def test_a_target_that_is_not_empty(database: Database, other: Database, draft: Any) -> None:
    fill(database, draft)
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


def test_nothing_is_half_written(sqlite_database: Database, postgres_url: str, draft: Any) -> None:
    """PostgreSQL refuses a NUL character in the last table that holds a text."""
    fill(sqlite_database, draft)
    with sqlite_database.write() as connection:
        connection.execute(text("UPDATE drafts SET request = 'a' || char(0) || 'b'"))
    target = Database(postgres_url, timeout_s=TIMEOUT_S)
    with pytest.raises(StoreError, match=r"A row of 'drafts' cannot be copied \(DataError\); nothing was written\."):
        transfer.copy_all(sqlite_database, target)
    transfer.check_usable(target)
    target.close()
