from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from pearl.errors import StoreError
from pearl.records import Document, Draft, Retrieval, Revision
from service.store import documents, drafts, feedback, users, voices
from service.store.database import Database
from service.store.documents import Addition
from service.store.schema import configuration, known
from service.store.tables import metadata


@pytest.fixture
def empty(empty_database_url: str) -> Iterator[Database]:
    made = Database(empty_database_url, timeout_s=10)
    yield made
    made.close()


def tables(database: Database) -> set[str]:
    with database.read() as connection:
        return set(inspect(connection).get_table_names())


def test_an_empty_database_gets_the_declared_tables(empty):
    empty.migrate()
    assert tables(empty) == {*metadata.tables, "alembic_version"}
    with empty.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Database]:
    """The database as the first version that is read made it, by migrations that are gone."""
    connection = sqlite3.connect(tmp_path / "first.db")
    connection.executescript(Path(__file__).with_name("schema_0007.sql").read_text(encoding="utf-8"))
    connection.close()
    made = Database(f"sqlite:///{tmp_path / 'first.db'}", timeout_s=10)
    yield made
    made.close()


def test_the_migrations_bring_the_first_database_to_the_declared_tables(first):
    first.migrate()
    there, newest = first.schema_version()
    assert there == newest
    assert tables(first) == {*metadata.tables, "alembic_version"}
    with first.write() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        users.ensure(connection, {"ann"})
        assert users.chosen(connection, None).name == "ann"


def test_a_database_with_documents_and_drafts_keeps_them(empty):
    empty.migrate()
    with empty.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"]
        documents.add(connection, [Addition(ann.id, Document("d1", "Kettle's on.", 1000.0, voice="email"), "import_1")])
        drafts.add(
            connection,
            ann.id,
            Draft("draft_1", "Hello.", "draft", Retrieval(), Revision(False, "", "")),
            request="greet",
            instructions="",
            voice=None,
            model="fake",
        )
        feedback.add(connection, ann.id, "draft_1", "accepted", None)
        settings = configuration()
        settings.attributes["connection"] = connection
        command.downgrade(settings, "0007")
        assert "recipient" not in {column["name"] for column in inspect(connection).get_columns("documents")}
    empty.migrate()
    with empty.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert [document.text for document in documents.all_of_user(connection, ann.id)] == ["Kettle's on.", "Hello."]
        assert drafts.get(connection, ann.id, "draft_1").request == "greet"
        assert [voice.name for voice in voices.list_all(connection, ann.id)] == ["email"]
        assert [entry.document_id for entry in feedback.all_of_user(connection, ann.id)] == ["draft_1"]


def test_an_earlier_database_is_refused_and_left_alone(first):
    with first.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0006'")
    with pytest.raises(
        StoreError, match=r"early version of PEARL \(0006; this one reads 0007 .* `pearl migrate` of the version"
    ) as caught:
        first.migrate()
    assert caught.value.code == "schema_older"
    assert first.schema_version()[0] == "0006"


def test_the_schema_version_says_what_is_there_and_what_should_be(empty):
    there, newest = empty.schema_version()
    assert there is None
    assert newest is not None
    empty.migrate()
    assert empty.schema_version() == (newest, newest)


def test_the_newest_revision_is_the_last_of_the_migrations():
    assert known()[1] == ScriptDirectory.from_config(configuration()).get_current_head()


def test_migrating_twice_changes_nothing(empty):
    empty.migrate()
    with empty.write() as connection:
        users.ensure(connection, {"ann"})
    empty.migrate()
    with empty.read() as connection:
        assert users.find(connection, "ann") is not None


def test_threads_that_migrate_at_once(empty_database_url, at_once):
    def migrate() -> None:
        database = Database(empty_database_url, timeout_s=10)
        try:
            database.migrate()
        finally:
            database.close()

    assert at_once([migrate] * 4) == [None] * 4


def test_processes_that_migrate_at_once(empty_database_url):
    program = "import sys; from service.store.database import Database; Database(sys.argv[1]).migrate()"
    started = [
        subprocess.Popen([sys.executable, "-c", program, empty_database_url], stderr=subprocess.PIPE) for _ in range(3)
    ]
    for process in started:
        _, errors = process.communicate(timeout=180)
        assert process.returncode == 0, errors.decode()
    database = Database(empty_database_url)
    there, newest = database.schema_version()
    database.close()
    assert there == newest


def test_a_migration_that_fails_leaves_nothing_behind(empty):
    with empty.write() as connection:
        connection.exec_driver_sql("CREATE TABLE feedback (id INTEGER)")  # in the way of a later table
    with pytest.raises(StoreError):
        empty.migrate()
    assert tables(empty) == {"feedback"}


def test_without_a_schema_the_error_says_what_to_start(empty):
    with pytest.raises(StoreError, match="pearl serve") as caught, empty.write() as connection:
        users.ensure(connection, {"ann"})
    assert caught.value.code == "schema_missing"


def test_with_an_older_schema_too(empty):
    empty.migrate()
    with empty.write() as connection:
        connection.exec_driver_sql("ALTER TABLE users RENAME COLUMN history_version TO revision")
    with pytest.raises(StoreError) as caught, empty.write() as connection:
        users.touch_history(connection, {1})
    assert caught.value.code == "schema_missing"


def test_the_schema_of_a_later_version_is_left_alone(empty):
    empty.migrate()
    with empty.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(
        StoreError, match=r"of a later version of PEARL \(9999; this one knows \d{4}\); install"
    ) as caught:
        empty.migrate()
    assert caught.value.code == "schema_newer"
