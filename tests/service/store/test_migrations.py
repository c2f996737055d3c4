from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, delete, insert, inspect, select, text

from pearl.errors import StoreError
from pearl.records import Document, Draft, Retrieval, Revision
from service.store import documents, drafts, feedback, users, voices
from service.store.database import Database
from service.store.documents import Addition, AddOutcome
from service.store.schema import MIGRATIONS, configuration, known
from service.store.tables import metadata

SCHEMAS = Path(__file__).with_name("schemas")


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


def revisions() -> list[str]:
    """Every revision that this code upgrades."""
    numbers = (path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))
    return sorted(numbers)


def load(revision: str, url: str) -> None:
    """Make the database of a version as that made it, with rows in every table."""
    kind = "sqlite" if url.startswith("sqlite") else "postgresql"
    file = SCHEMAS / f"{revision}.{kind}.sql"
    assert file.exists(), "run python -m tests.service.store.schemas.make"
    dump = file.read_bytes().decode()
    if kind == "postgresql":
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            connection.execute(dump)
        return
    file = Path(url.removeprefix("sqlite:///"))
    file.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(dump)


@pytest.fixture(params=revisions())
def released(request: pytest.FixtureRequest, empty_database_url: str) -> Iterator[Database]:
    """The database of a version, filled by that."""
    load(request.param, empty_database_url)
    made = Database(empty_database_url, timeout_s=10)
    assert made.schema_version()[0] == request.param
    yield made
    made.close()


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Database]:
    """The database of the first version that is read."""
    url = f"sqlite:///{tmp_path / 'first.db'}"
    load(revisions()[0], url)
    made = Database(url, timeout_s=10)
    yield made
    made.close()


def all_rows(database: Database) -> dict[str, list[dict[str, object]]]:
    """Every row by table, in an order that columns which come or go do not change."""
    with database.read() as connection:
        return {
            table: sorted(
                (dict(row._mapping) for row in connection.exec_driver_sql(f"SELECT * FROM {table}")),
                key=lambda row: [str(row.get(name)) for name in ("id", "seq", "user_id", "name", "key_id", "voice")],
            )
            for table in inspect(connection).get_table_names()
            if table != "alembic_version"
        }


def kept(before: dict[str, list[dict[str, object]]], after: dict[str, list[dict[str, object]]]) -> bool:
    """True if every row is there with the values that it had in the columns that stayed."""
    return all(
        len(rows) == len(after[table])
        and all(
            row[name] == later[name]
            for row, later in zip(rows, after[table], strict=True)
            for name in later
            if name in row
        )
        for table, rows in before.items()
    )


def test_the_database_of_each_version_is_upgraded_with_its_rows(released):
    before = all_rows(released)
    assert all(before.values()), "there is something in every table"
    released.migrate()
    there, newest = released.schema_version()
    assert there == newest
    assert tables(released) == {*metadata.tables, "alembic_version"}
    assert kept(before, all_rows(released))
    with released.write() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        ann = users.get(connection, "ann").id
        assert {document.text for document in documents.all_of_user(connection, ann)} >= {"Dear Bo."}
        assert drafts.get(connection, ann, "draft_x").request == "q"
        assert documents.add(connection, [Addition(ann, Document("n", "New.", 3.0))]) == [AddOutcome.CREATED]
        assert users.ensure(connection, {"new"})["new"].id > ann


# forks, so that the imports are paid once: each child upgrades and kills itself one statement or commit later
KILLED = """
import os, signal, sys
from itertools import count
from sqlalchemy import event, inspect
from service.store import schema
from service.store.database import Database
import alembic.command


def die(after):
    database, done = Database(sys.argv[1], timeout_s=10), count(1)

    def kill(*_):
        if next(done) == after:
            os.kill(os.getpid(), signal.SIGKILL)

    for moment in ("after_cursor_execute", "commit"):
        event.listen(database.engine, moment, kill)
    database.migrate()


for after in count(1):
    child = os.fork()
    if child == 0:
        die(after)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
    database = Database(sys.argv[1], timeout_s=10)
    print(database.schema_version()[0], flush=True)
    database.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("revision", [None, revisions()[0]])
def test_a_migration_that_is_killed_is_done_by_the_next_start(empty_database_url, revision):
    if revision:
        load(revision, empty_database_url)
    database = Database(empty_database_url, timeout_s=10)
    before = all_rows(database)
    database.close()
    run = subprocess.run(
        [sys.executable, "-c", KILLED, empty_database_url], capture_output=True, text=True, timeout=200, check=False
    )
    assert run.returncode == 0, run.stderr
    left = run.stdout.split()
    assert len(left) > 10
    assert set(left) == {str(revision)}  # nothing of an upgrade that did not end
    assert database.schema_version()[0] == known()[1]
    assert kept(before, all_rows(database))
    database.close()


@pytest.mark.parametrize("revision", revisions()[1:])
def test_a_process_of_the_version_before_works_on(empty_database_url, revision):
    """Each migration of a hundred only adds: every row can be written again by the columns that it had before."""
    load(revisions()[revisions().index(revision) - 1], empty_database_url)
    database = Database(empty_database_url, timeout_s=10)
    before, then = all_rows(database), MetaData()
    with database.read() as connection:
        then.reflect(connection)
        rows = {table: list(map(dict, connection.execute(select(table)).mappings())) for table in then.sorted_tables}
    database.migrate()
    with database.write() as connection:
        for table in reversed(rows):
            connection.execute(delete(table))
        for table, known_rows in rows.items():
            connection.execute(insert(table), known_rows)
    assert kept(before, all_rows(database))
    database.close()


WAITING = "SELECT virtualtransaction FROM pg_locks WHERE NOT granted AND locktype = 'relation'"


@pytest.mark.slow
def test_who_reads_for_long_holds_up_a_migration_and_no_one_else(postgres_databases):
    url = postgres_databases("template1")
    load(revisions()[-2], url)
    reader, other, database = (Database(url, timeout_s=10) for _ in range(3))
    migrating = threading.Thread(target=database.migrate)
    with reader.read() as connection:
        assert users.find(connection, "ann")
        connection.exec_driver_sql("SELECT count(*) FROM voices")  # as a backup does
        migrating.start()
        tries: set[str] = set()
        while len(tries) < 2:  # it waits for a table twice
            with other.read() as meanwhile:
                tries |= set(meanwhile.scalars(text(WAITING)))
                # an error if it were held up for as long as the first one reads
                meanwhile.exec_driver_sql("SELECT count(*) FROM voices")
            time.sleep(0.01)
        assert migrating.is_alive()
    migrating.join()
    assert database.schema_version()[0] == known()[1]
    for each in (reader, other, database):
        each.close()


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
        command.downgrade(settings, revisions()[0])
        columns = {column["name"] for column in inspect(connection).get_columns("voices")}
        assert not columns & {"local_only", "edges"}
    empty.migrate()
    with empty.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert [document.text for document in documents.all_of_user(connection, ann.id)] == ["Kettle's on.", "Hello."]
        assert drafts.get(connection, ann.id, "draft_1").request == "greet"
        assert [voice.name for voice in voices.list_all(connection, ann.id)] == ["email"]
        assert [entry.document_id for entry in feedback.all_of_user(connection, ann.id)] == ["draft_1"]


@pytest.mark.parametrize(
    ("version", "code", "why"),
    [
        (
            "0009",
            "schema_older",
            r"early version of PEARL \(0009; this one reads 0010 .* `pearl migrate` of the version",
        ),
        ("9999", "schema_newer", r"of a later version of PEARL \(9999; this one knows \d{4}\); install"),
    ],
)
def test_a_database_of_another_version_is_refused_and_left_alone(first, version, code, why):
    with first.write() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    with pytest.raises(StoreError, match=why) as caught:
        first.migrate()
    assert caught.value.code == code
    assert first.schema_version()[0] == version


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


@pytest.mark.slow
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
