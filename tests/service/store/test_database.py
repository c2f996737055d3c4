from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import event, text

from pearl.errors import InputError, StoreError
from pearl.records import Document
from service.store import documents, user_counts, users
from service.store.database import Database
from service.store.documents import Addition
from service.store.sqlite_files import LEAST_ROOM, RESERVE


@pytest.fixture
def impatient(database_url: str) -> Iterator[Database]:
    made = Database(database_url, timeout_s=0.5)
    yield made
    made.close()


def add_user(database: Database, name: str) -> None:
    with database.write() as connection:
        users.ensure(connection, {name})


def names(database: Database) -> list[str]:
    with database.read() as connection:
        return sorted(connection.scalars(text("SELECT name FROM users")))


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_character(postgres_databases, encoding):
    """As a server makes it that was set up without a locale."""
    locale = "LC_COLLATE 'C' LC_CTYPE 'C'"
    database = Database(postgres_databases(f"template0 ENCODING '{encoding}' {locale}"))
    with pytest.raises(InputError, match=f"encoding {encoding}; make one with UTF8: createdb --encoding UTF8 "):
        database.migrate()
    database.close()


def test_a_write_that_fails_leaves_nothing(database):
    def fail_half_way() -> None:
        with database.write() as connection:
            users.ensure(connection, {"ann"})
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail_half_way()
    assert names(database) == []


def test_a_read_sees_one_state_of_the_data(database):
    with database.read() as connection:
        before = connection.scalar(text("SELECT count(*) FROM users"))
        add_user(database, "ann")
        assert connection.scalar(text("SELECT count(*) FROM users")) == before
    assert names(database) == ["ann"]


def test_a_read_does_not_wait_for_a_writer(impatient):
    add_user(impatient, "ann")
    with impatient.write() as connection:
        connection.execute(text("UPDATE users SET name = 'eve'"))
        assert names(impatient) == ["ann"]
    assert names(impatient) == ["eve"]


def test_a_locked_database_says_so_and_when_to_come_back(impatient):
    add_user(impatient, "ann")
    with impatient.write() as held:
        held.execute(text("UPDATE users SET history_version = 7"))
        started = time.monotonic()
        with pytest.raises(StoreError, match="locked by another program") as caught, impatient.write() as connection:
            connection.execute(text("UPDATE users SET history_version = 8"))
        assert time.monotonic() - started > 0.1  # it was waited for
    assert (caught.value.code, caught.value.retry_after, caught.value.http_status) == ("store_locked", 1.0, 503)
    with impatient.read() as connection:
        assert connection.scalar(text("SELECT history_version FROM users")) == 7


def test_a_write_may_wait_for_less_than_the_usual_time(database):
    add_user(database, "ann")
    with database.write() as held:
        held.execute(text("UPDATE users SET history_version = 7"))
        started = time.monotonic()
        with pytest.raises(StoreError) as caught, database.write(within_s=0.0) as connection:
            connection.execute(text("UPDATE users SET history_version = 8"))
        assert time.monotonic() - started < 30  # half of the usual time
    assert caught.value.code == "store_locked"
    if database.is_sqlite:  # what the connection has for the next one
        with database.read() as connection:
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() > 1000
    with database.write(within_s=0.0) as connection:
        connection.execute(text("UPDATE users SET history_version = 9"))


def test_of_two_that_wait_for_each_other_one_goes_on(postgres_url):
    """As two strict imports of the same users in opposite orders."""
    database = Database(postgres_url, timeout_s=60)
    with database.write() as connection:
        ids = [user.id for user in users.ensure(connection, {"ann", "bob"}).values()]
    both_hold_one = threading.Barrier(2)

    def lock_both(first: int, second: int) -> str:
        try:
            with database.write() as connection:
                users.lock(connection, {first})
                both_hold_one.wait(timeout=60)
                users.lock(connection, {second})
        except StoreError as error:
            return error.code
        return "done"

    with ThreadPoolExecutor() as threads:
        outcomes = threads.map(lock_both, ids, reversed(ids))
    assert sorted(outcomes) == ["done", "store_locked"]
    database.close()


def test_a_full_disk_leaves_nothing_half_written(sqlite_database):
    with sqlite_database.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"]
        documents.add(connection, [Addition(ann.id, Document("first", "a text", 1.0))])

    def overfill() -> None:
        with sqlite_database.write() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 10}")
            many = [Document(str(number), f"{number} " * 500, 1.0) for number in range(1000)]
            documents.add(connection, [Addition(ann.id, document) for document in many])

    with pytest.raises(StoreError) as caught:
        overfill()
    folder = Path(sqlite_database.engine.url.database).parent
    assert caught.value.code == "disk_full"
    assert caught.value.message.startswith(f"The disk is full: {folder} has no room left. Free some space there")
    with sqlite_database.read() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1073741823")
        assert [document.id for document in documents.all_of_user(connection, ann.id)] == ["first"]
        assert users.history_version(connection, ann.id) == 1
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"


def test_a_disk_too_full_to_open_the_database(sqlite_database, files_of_at_most):
    with files_of_at_most(1_000), pytest.raises(StoreError, match="The disk is full") as caught:
        names(sqlite_database)
    assert caught.value.code == "disk_full"
    assert names(sqlite_database) == []


def test_a_disk_that_seems_to_take_no_writes(sqlite_database, monkeypatch):
    assert sqlite_database.schema_version(to_write=True) == sqlite_database.schema_version()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100_000))
    with pytest.raises(StoreError, match="has no room left"):
        assert sqlite_database.schema_version(to_write=True) == sqlite_database.schema_version()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="it is read-only, over a quota"):
        sqlite_database.schema_version(to_write=True)


def test_to_see_that_all_is_well_takes_one_transaction(database_url):
    database, begun = Database(database_url), []
    event.listen(database.engine, "begin", begun.append)
    there, newest = database.schema_version(to_write=True)
    database.close()
    assert (there, len(begun)) == (newest, 1)


def test_a_disk_that_takes_no_writes_is_not_called_full(sqlite_database, files_of_at_most):
    """SQLite's "disk I/O error": also of a file system that became read-only while the database was open."""
    folder = Path(sqlite_database.engine.url.database).parent
    assert names(sqlite_database) == []  # it is open
    with pytest.raises(StoreError, match="read-only, over a quota, full") as caught, files_of_at_most(0):
        add_user(sqlite_database, "ann")
    assert caught.value.code == "disk_failed"
    assert caught.value.message.startswith(f"The disk under {folder} fails: ")
    assert names(sqlite_database) == []
    add_user(sqlite_database, "bob")
    assert names(sqlite_database) == ["bob"]


@pytest.fixture
def opened(sqlite_database) -> Path:
    add_user(sqlite_database, "ann")
    return Path(sqlite_database.engine.url.database)


def fails(database: Database, code: str, *, reads: bool = True) -> None:
    """Assert that writes, and reads, fail with this code, and that readiness says it."""
    add = partial(add_user, database, "bob")
    for call in (add, partial(database.schema_version, to_write=True), *((partial(names, database),) if reads else ())):
        with pytest.raises(StoreError) as caught:
            call()
        assert caught.value.code == code
        file = database.engine.url.database
        assert str(file) in caught.value.message
        assert str(Path(file).parent) not in caught.value.public


@pytest.mark.parametrize("replaced", [False, True])
def test_a_database_that_was_deleted_or_replaced_stores_nothing(sqlite_database, opened, sqlite_template, replaced):
    opened.unlink()
    if replaced:
        shutil.copy(sqlite_template, opened)
    fails(sqlite_database, "store_gone")
    assert opened.exists() is replaced


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: file.write_bytes(b"")])
def test_a_log_that_is_lost_is_told_by_the_first_write(sqlite_database, opened, harm):
    harm(opened.with_name("pearl.db-wal"))
    fails(sqlite_database, "store_gone")


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: file.write_bytes(b"")])
def test_a_database_that_is_lost_while_it_is_written_acknowledges_nothing(sqlite_database, opened, harm):
    def write() -> None:
        with sqlite_database.write() as connection:
            users.ensure(connection, {"bob"})
            harm(opened)

    with pytest.raises(StoreError) as caught:
        write()
    assert caught.value.code == "store_gone"
    fails(sqlite_database, "store_gone")


def test_an_index_that_was_cut_is_made_anew(sqlite_database, opened):
    os.truncate(opened.with_name("pearl.db-shm"), 0)  # to touch it where it is mapped would end the process
    assert names(sqlite_database) == ["ann"]
    add_user(sqlite_database, "bob")
    assert names(sqlite_database) == ["ann", "bob"]


@pytest.mark.parametrize(("file", "reads"), [("pearl.db", True), ("pearl.db-wal", True), ("pearl.db-shm", False)])
def test_files_that_cannot_be_written_are_not_touched(sqlite_database, opened, monkeypatch, file, reads):
    """An immutable one is refused to the superuser, too, by os.access alone: SQLite has it open already."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != file and access(path, mode))
    with pytest.raises(StoreError, match="chattr -i") as caught:
        add_user(sqlite_database, "bob")
    assert caught.value.code == "store_read_only"
    if reads:
        assert names(sqlite_database) == ["ann"]
    else:
        fails(sqlite_database, "store_read_only", reads=True)
    monkeypatch.undo()
    assert names(sqlite_database) == ["ann"]


def test_a_damaged_database_says_what_to_do(sqlite_database, opened):
    with sqlite_database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    sqlite_database.close()
    pages = opened.read_bytes()
    opened.write_bytes(pages[:4096] + b"\xff" * (len(pages) - 4096))
    with pytest.raises(StoreError, match=r"is damaged\. Stop PEARL, keep a copy of the file, and restore") as caught:
        names(sqlite_database)
    assert caught.value.code == "store_damaged"
    assert str(opened) in caught.value.message


def test_room_is_kept_for_deletions(sqlite_database, opened, monkeypatch):
    reserve = opened.with_name("pearl.db-reserve")
    sqlite_database.keep_room()
    assert reserve.stat().st_blocks * 512 >= RESERVE
    assert reserve.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    add_user(sqlite_database, "bob")
    assert reserve.stat().st_size == RESERVE
    with sqlite_database.write(deletes=True):
        assert reserve.stat().st_size == 0
    sqlite_database.keep_room()
    assert reserve.stat().st_size == 0
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3 * LEAST_ROOM))
    sqlite_database.keep_room()
    assert reserve.stat().st_size == 3 * LEAST_ROOM // 2
    with sqlite_database.write(deletes=True):
        assert reserve.stat().st_size == 0
    monkeypatch.undo()
    sqlite_database.keep_room()
    assert reserve.stat().st_size == RESERVE


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "mysql://host/name",
        "postgresql+nothing://host/name",
        "postgresql+psycopg2://host/name",
        "postgresql://host:port/name",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_urls_that_cannot_be_used(url):
    with pytest.raises(InputError, match="PEARL_DATABASE_URL") as caught:
        Database(url)
    assert caught.value.code == "invalid_database_url"
    assert "\n" not in caught.value.message


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError) as caught:
        Database(f"sqlite:///{tmp_path / 'file' / 'pearl.db'}")
    assert caught.value.message == (
        f"The database's folder {tmp_path / 'file'} cannot be made: File exists. PEARL_HOME names it, or "
        "PEARL_DATABASE_URL the file."
    )


def test_what_is_not_a_database(tmp_path):
    path = tmp_path / "pearl.db"
    path.write_bytes(b"not a database at all" * 100)
    for place in (path, tmp_path):
        database = Database(f"sqlite:///{place}")
        with pytest.raises(StoreError, match=f"The database {place} cannot be opened: .* PEARL_HOME names") as caught:
            names(database)
        assert caught.value.code == "store_unreachable"
        database.close()


def test_a_server_that_is_not_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and nobody listens
        database = Database(f"postgresql://ann:secret@127.0.0.1:{free.getsockname()[1]}/pearl")
        with pytest.raises(StoreError, match=r"\(Connection refused\); check PEARL_DATABASE_URL") as caught:
            names(database)
        assert "secret" not in caught.value.message
        assert (caught.value.code, caught.value.retry_after) == ("store_unreachable", 1.0)
        database.close()


def test_a_server_that_says_nothing_is_not_waited_for_longer_than_a_lock():
    with ThreadPoolExecutor(1) as pool, socket.socket() as silent:  # closed first, which ends the wait in any case
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        database = Database(f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/pearl", timeout_s=1.5)
        asked = pool.submit(names, database)
        with pytest.raises(StoreError, match="timeout expired"):
            asked.result(timeout=200)
    database.close()


def test_a_server_that_hangs_is_not_waited_for(postgres_url):
    database = Database(postgres_url, timeout_s=0.5, pool_size=1)
    add_user(database, "ann")

    def hang() -> None:
        with database.read() as connection:
            pids.append(connection.scalar(text("SELECT pg_backend_pid()")))
            connection.connection.dbapi_connection.limit_s = 0.05
            os.kill(pids[-1], signal.SIGSTOP)
            connection.scalar(text("SELECT 1"))

    pids: list[int] = []
    try:
        with pytest.raises(StoreError, match="did not answer in time") as caught:
            hang()
        assert (caught.value.code, caught.value.retry_after) == ("store_timeout", 1.0)
        assert names(database) == ["ann"]  # by another connection
        with database.engine.connect() as connection:
            assert connection.connection.dbapi_connection.limit_s == pytest.approx(3.0)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        database.close()


def test_a_statement_that_takes_too_long_is_ended(postgres_url):
    database = Database(postgres_url, timeout_s=0.5)
    with pytest.raises(StoreError, match="did not answer in time") as caught, database.read() as connection:
        connection.execute(text("SELECT pg_sleep(60)"))
    assert caught.value.code == "store_timeout"
    database.migrate()
    assert database.forget_deleted()
    with database.read() as connection:
        limits = [connection.scalar(text(f"SHOW {name}")) for name in ("lock_timeout", "statement_timeout")]
    assert limits == ["500ms", "1s"]
    database.close()


def test_a_place_among_the_connections_is_not_waited_for_longer(database_url):
    database = Database(database_url, timeout_s=0.5, pool_size=1)
    with ExitStack() as held:
        for _ in range(11):  # with those that the pool makes beyond its size
            held.enter_context(database.read())
        with pytest.raises(StoreError, match="Too many calls wait") as caught:
            names(database)
    assert caught.value.code == "store_timeout"
    database.close()


def test_a_postgresql_that_takes_no_changes(postgres_url):
    database = Database(f"{postgres_url}&options=-c%20default_transaction_read_only%3Don")
    with pytest.raises(StoreError, match="it is a standby, or was set read-only") as caught:
        add_user(database, "ann")
    assert caught.value.code == "store_read_only"
    assert names(database) == []
    database.close()


def test_options_of_the_url_count_beside_ours(postgres_url):
    database = Database(f"{postgres_url}&options=-c%20work_mem%3D7MB&connect_timeout=7", timeout_s=3.0)
    with database.engine.connect() as connection:
        settings = [connection.scalar(text(f"SHOW {name}")) for name in ("work_mem", "lock_timeout")]
        assert connection.connection.driver_connection.info.get_parameters()["connect_timeout"] == "7"
    assert settings == ["7MB", "3s"]
    database.close()


def test_without_the_library_of_postgresql_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"needs psycopg.*pip install 'pearl-writing\[postgres\]'"):
        Database("postgresql://ann@127.0.0.1/pearl")


@pytest.mark.parametrize("template", ["migrated", "template1"])
def test_a_role_that_may_not(postgres_databases, postgres_server, template):
    """As PostgreSQL has it since its version 15 for a role that the database was not made for."""
    with postgres_server.connect() as admin:
        admin.execute(text("CREATE ROLE guest LOGIN"))
    database = Database(postgres_databases(template).replace("://postgres", "://guest"))
    with pytest.raises(StoreError, match=r"does not let the role .* make it the owner of the database") as caught:
        database.migrate() if template == "template1" else add_user(database, "ann")
    assert caught.value.code == "store_forbidden"
    database.close()
    with postgres_server.connect() as admin:
        admin.execute(text("DROP ROLE guest"))


def test_a_database_that_is_not_there(postgres_url):
    database = Database(postgres_url.replace("/test_", "/nothing_"))
    with pytest.raises(StoreError, match=r'FATAL: database "nothing_\d+" does not exist'):
        names(database)
    database.close()


def test_an_error_does_not_quote_what_is_stored(database):
    add_user(database, "ann")
    with pytest.raises(StoreError) as caught, database.write() as connection:
        connection.execute(
            text("INSERT INTO users (id, tenant_id, name, created_at) SELECT 99, tenant_id, name, 0 FROM users")
        )
    assert "ann" not in caught.value.message
    assert caught.value.code == "store_unavailable"


def test_a_connection_that_broke_is_replaced(postgres_url, postgres_server):
    database = Database(postgres_url)
    add_user(database, "ann")
    with postgres_server.connect() as admin:
        admin.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(datname, 'test')"
        )
    assert names(database) == ["ann"]
    database.close()


def test_more_calls_than_connections_wait_their_turn(database_url, at_once):
    database = Database(database_url, pool_size=2)
    results = at_once([lambda number=number: add_user(database, f"user{number}") for number in range(16)])
    assert results == [None] * 16
    assert len(names(database)) == 16
    database.close()


@pytest.mark.slow
def test_writers_of_many_threads_lose_nothing(database, at_once):
    add_user(database, "ann")

    def write(thread: int) -> None:
        for number in range(10):
            with database.write() as connection:
                users.touch_history(connection, {1})
                ann = users.get(connection, "ann")
                documents.add(connection, [Addition(ann.id, Document(f"{thread}.{number}", "a text", 1.0))])

    assert at_once([lambda thread=thread: write(thread) for thread in range(8)]) == [None] * 8
    with database.read() as connection:
        ann = users.get(connection, "ann")
        assert user_counts.count_documents(connection, ann.id) == 80
        assert users.history_version(connection, ann.id) == 160  # two changes each


def on_disk(folder: Path, words: str) -> bool:
    return any(words.encode() in path.read_bytes() for path in folder.glob("pearl.db*"))


def test_what_is_deleted_leaves_sqlites_files(sqlite_database, tmp_path):
    with sqlite_database.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"]
        texts = [f"unmistakable {number} " + "and quite long " * 400 for number in range(20)]
        documents.add(
            connection, [Addition(ann.id, Document(str(number), text, 1.0)) for number, text in enumerate(texts)]
        )
    sqlite_database.forget_deleted()
    assert on_disk(tmp_path, "unmistakable 7")
    assert (tmp_path / "pearl.db-wal").stat().st_size == 0
    with sqlite_database.write() as connection:
        documents.remove(connection, ann.id, "7")
    sqlite_database.forget_deleted()
    assert not on_disk(tmp_path, "unmistakable 7")
    assert on_disk(tmp_path, "unmistakable 8")
    with sqlite_database.write() as connection:
        users.remove(connection, ann.id)
    sqlite_database.forget_deleted()
    assert not on_disk(tmp_path, "unmistakable")
    assert not on_disk(tmp_path, "quite long")


def test_forgetting_while_others_read_and_write(database, at_once):
    add_user(database, "ann")

    def forget() -> None:
        for _ in range(3):
            database.forget_deleted()

    def write(name: str) -> None:
        for number in range(5):
            add_user(database, f"{name}{number}")

    def read() -> None:
        for _ in range(10):
            names(database)

    assert at_once([forget, forget, lambda: write("bob"), lambda: write("eve"), read]) == [None] * 5
    assert len(names(database)) == 11


def test_postgres_gives_the_space_of_the_deleted_free(postgres_url):
    database = Database(postgres_url)
    with database.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"]
        documents.add(connection, [Addition(ann.id, Document(str(n), f"{n} words " * 50, 1.0)) for n in range(500)])
        users.remove(connection, ann.id)
    database.forget_deleted()
    with database.read() as connection:
        assert connection.scalar(text("SELECT pg_relation_size('documents')")) == 0
    database.close()


def test_a_copy_of_the_file_is_a_database(sqlite_database, tmp_path):
    add_user(sqlite_database, "ann")
    sqlite_database.forget_deleted()
    shutil.copy(tmp_path / "pearl.db", tmp_path / "copy.db")
    copy = Database(f"sqlite:///{tmp_path / 'copy.db'}")
    assert names(copy) == ["ann"]
    copy.close()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in [folder, *folder.iterdir()]}


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_a_new_database_is_its_owners_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        database = Database(f"sqlite:///{tmp_path / 'home' / 'pearl.db'}")
        database.migrate()
        add_user(database, "ann")
        assert modes(tmp_path / "home") == {
            "home": 0o700,
            "pearl.db": 0o600,
            "pearl.db-wal": 0o600,
            "pearl.db-shm": 0o600,
        }
        database.close()
    finally:
        os.umask(before)


def test_one_that_others_could_read_is_closed_at_the_start(sqlite_database, tmp_path):
    add_user(sqlite_database, "ann")
    tmp_path.chmod(0o755)
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    again = Database(f"sqlite:///{tmp_path / 'pearl.db'}")
    assert names(again) == ["ann"]
    assert set(modes(tmp_path).values()) == {0o700, 0o600}
    again.close()


def test_what_is_acknowledged_is_on_the_disk(sqlite_database):
    with sqlite_database.read() as connection:
        assert connection.scalar(text("PRAGMA synchronous")) == 2  # FULL


def test_a_database_that_is_not_used_is_not_made(tmp_path):
    Database(f"sqlite:///{tmp_path / 'pearl.db'}").close()
    assert list(tmp_path.iterdir()) == []


def test_a_question_mark_in_the_name_of_a_file(tmp_path):
    """It would begin options, and what follows it be lost: the data would lie in another file."""
    with pytest.raises(InputError, match=r"begins no option; a file's name has %3F"):
        Database(f"sqlite:///{tmp_path}/what?/pearl.db")
    database = Database(f"sqlite:///{tmp_path}/what%3F/pearl.db")
    database.migrate()
    database.close()
    assert (tmp_path / "what?" / "pearl.db").exists()
    assert not (tmp_path / "what").exists()
