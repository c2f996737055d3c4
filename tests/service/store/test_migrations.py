from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from pearl.errors import StoreError
from service.store import users
from service.store.database import Database
from service.store.ids import digest
from service.store.schema import configuration
from service.store.schema import newest as newest_revision
from service.store.tables import metadata


@pytest.fixture
def empty(empty_database_url: str) -> Iterator[Database]:
    made = Database(empty_database_url, timeout_s=10)
    yield made
    made.close()


def tables(database: Database) -> set[str]:
    with database.read() as connection:
        return set(inspect(connection).get_table_names())


def schema(connection: Connection) -> dict[str, list[Any]]:
    """Columns, keys and indexes of our tables, as the database tells them."""
    inspector = inspect(connection)
    return {
        table: [
            [(column["name"], str(column["type"]), column["nullable"], column["default"]) for column in columns],
            inspector.get_pk_constraint(table),
            sorted(map(str, inspector.get_unique_constraints(table))),
            sorted(map(str, inspector.get_foreign_keys(table))),
            sorted(map(str, inspector.get_indexes(table))),
            inspector.get_table_options(table),
        ]
        for table in metadata.tables
        if (columns := inspector.get_columns(table))
    }


def test_migrating_makes_exactly_the_declared_tables(empty):
    empty.migrate()
    assert tables(empty) == {*metadata.tables, "alembic_version"}
    with empty.write() as connection:
        migrated = schema(connection)
        metadata.drop_all(connection)
        metadata.create_all(connection)
        assert migrated == schema(connection)


def test_a_new_migration_would_have_nothing_to_do(empty):
    empty.migrate()
    with empty.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_schema_version_says_what_is_there_and_what_should_be(empty):
    there, newest = empty.schema_version()
    assert there is None
    assert newest is not None
    empty.migrate()
    assert empty.schema_version() == (newest, newest)


def test_the_newest_revision_is_the_last_of_the_migrations():
    assert newest_revision() == ScriptDirectory.from_config(configuration()).get_current_head()


def test_migrating_twice_changes_nothing(empty):
    empty.migrate()
    with empty.write() as connection:
        users.ensure(connection, {"ann"})
    empty.migrate()
    with empty.read() as connection:
        assert users.find(connection, "ann") is not None


def test_down_and_up_again(empty):
    empty.migrate()
    config = configuration()
    with empty.write() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert tables(empty) == {"alembic_version"}
    empty.migrate()
    assert set(metadata.tables) < tables(empty)


def test_requests_that_were_there_can_be_embedded(empty):
    config = configuration()
    with empty.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.exec_driver_sql("INSERT INTO tenants (id, name, created_at) VALUES (1, 'default', 0)")
        connection.exec_driver_sql("INSERT INTO users (id, tenant_id, name, created_at) VALUES (1, 1, 'ann', 0)")
        for number, request in enumerate(["NULL", "''", "'asked'"] * 500):
            connection.exec_driver_sql(
                "INSERT INTO documents (user_id, document_id, text, request, timestamp, content_digest, text_digest) "
                f"SELECT 1, 'd{number}', 'text {number}', {request}, 0, content, content "
                "FROM (SELECT CAST('0123456789abcdef' AS {}) AS content) AS of".format(
                    "BLOB" if empty.is_sqlite else "BYTEA"
                )
            )
    empty.migrate()
    with empty.read() as connection:
        rows = connection.exec_driver_sql("SELECT request, request_digest FROM documents").all()
    assert {(request, digested and bytes(digested)) for request, digested in rows} == {
        (None, None),
        ("", None),
        ("asked", digest("asked")),
    }


def test_the_third_migration_loses_nothing_that_refers_to_the_tables_it_changes(empty):
    config = configuration()
    with empty.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        for statement in (
            "INSERT INTO tenants (id, name, created_at) VALUES (1, 'default', 0)",
            "INSERT INTO users (id, tenant_id, name, created_at) VALUES (1, 1, 'ann', 0)",
            "INSERT INTO keys (id, tenant_id, digest, shown, grants_all_users, created_at) "
            "VALUES ('key_1', 1, 'd', 'pearl_', FALSE, 0)",
            "INSERT INTO grants (key_id, user_id) VALUES ('key_1', 1)",
            "INSERT INTO documents (seq, user_id, document_id, text, timestamp, content_digest, text_digest) "
            "VALUES (1, 1, 'd1', 'text', 0, '', '')",
            "INSERT INTO drafts (id, user_id, request, instructions, text, stage, model, retrieval, timings, "
            "created_at) VALUES ('draft_1', 1, 'q', '', 't', 'draft', 'm', '{}', '{}', 0)",
            "INSERT INTO feedback (id, draft_id, user_id, outcome, document_seq, created_at) "
            "VALUES ('f1', 'draft_1', 1, 'accepted', 1, 0)",
        ):
            connection.exec_driver_sql(statement)
    for _ in range(2):
        with empty.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        with empty.read() as connection:
            assert connection.exec_driver_sql("SELECT key_id FROM grants").scalar_one() == "key_1"
            assert connection.exec_driver_sql("SELECT document_seq FROM feedback").scalar_one() == 1
            assert connection.exec_driver_sql("SELECT import_id FROM documents").scalar_one() is None
        with empty.write() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "0002")


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


def test_without_a_schema_the_error_says_what_to_run(empty):
    with pytest.raises(StoreError, match="pearl migrate") as caught, empty.write() as connection:
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


def test_drafts_sent_before_the_fifth_migration_are_measured(empty):
    config = configuration()
    with empty.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        connection.exec_driver_sql("INSERT INTO tenants (id, name, created_at) VALUES (1, 'default', 0)")
        connection.exec_driver_sql("INSERT INTO users (id, tenant_id, name, created_at) VALUES (1, 1, 'ann', 0)")
        for number, (drafted, sent) in enumerate([("One two.", "One two."), ("One two.", "Three four, one")], start=1):
            for statement in (
                "INSERT INTO documents (seq, user_id, document_id, text, timestamp, content_digest, text_digest) "
                f"VALUES ({number}, 1, 'd{number}', '{sent}', 0, '{number}', '{number}')",
                "INSERT INTO drafts (id, user_id, request, instructions, text, stage, model, retrieval, timings, "
                f"created_at) VALUES ('draft_{number}', 1, 'q', '', '{drafted}', 'draft', 'm', '{{}}', '{{}}', 0)",
                "INSERT INTO feedback (id, draft_id, user_id, outcome, document_seq, created_at) "
                f"VALUES ('f{number}', 'draft_{number}', 1, 'accepted', {number}, 0)",
            ):
                connection.exec_driver_sql(statement)
    empty.migrate()
    with empty.read() as connection:
        rows = connection.exec_driver_sql("SELECT machine_share FROM feedback ORDER BY id").scalars().all()
    assert rows == [1.0, pytest.approx(1 / 3)]
