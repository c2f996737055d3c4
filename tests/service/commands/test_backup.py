"""`pearl backup` and `pearl restore`, between SQLite and PostgreSQL."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from pearl.records import Document
from service.store import backups, documents, keys, schema, transfer, users, voices
from service.store.backups import BackupMark
from service.store.database import Database
from service.store.documents import Addition
from service.store.tables import metadata
from tests.filled import contents, fill

SCHEMAS = Path(__file__).parents[1] / "store" / "schemas"


@pytest.fixture
def on(command: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a command on the database of this URL."""

    def run(url: str, *words: object, **options: object) -> Any:
        monkeypatch.setenv("PEARL_DATABASE_URL", url)
        return command(*words, **options)

    return run


@pytest.fixture
def other_url(database_url: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of the other kind."""
    if database_url.startswith("sqlite"):
        make: Callable[[str], str] = request.getfixturevalue("postgres_databases")
        return make("template1")
    return f"sqlite:///{tmp_path / 'other' / 'pearl.db'}"


@pytest.fixture
def filled(database: Database) -> Database:
    fill(database)
    return database


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pearl.backup"


@pytest.fixture
def backup(filled: Database, database_url: str, file: Path, on: Any) -> Path:
    """A backup of the filled database."""
    assert on(database_url, "backup", file).status == 0
    return file


def contents_at(url: str) -> dict[str, list[str]]:
    with closing(Database(url)) as database:
        return contents(database)


def texts(database: Database, user: str = "ann") -> set[str]:
    with database.read() as connection:
        return {each.text for each in documents.all_of_user(connection, users.get(connection, user).id)}


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith((".", "pearl-"))]


def test_from_one_database_into_the_other(
    filled: Database, database_url: str, other_url: str, on: Any, file: Path, own_home: Path
) -> None:
    before = contents(filled)
    run = on(database_url, "backup", file, json="-")
    assert run.status == 0, run.err
    assert run.json["rows"] == {table: len(rows) for table, rows in before.items()}
    assert {name: run.json[name] for name in ("file", "bytes", "pearl", "schema")} == {
        "file": str(file),
        "bytes": file.stat().st_size,
        "pearl": "0.1.0",
        "schema": filled.schema_version()[1],
    }
    assert run.err.endswith("bytes, read back and compared.\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert leftovers(file.parent) == []
    checked = on(other_url, "restore", file, "--check")
    assert (checked.status, checked.err.partition(": ")[0]) == (0, f"{file} is whole")
    run = on(other_url, "restore", file, json="-")
    assert run.status == 0, run.err
    assert contents_at(other_url) == before == contents(filled)
    assert run.json["rows"] == run.json["backup"]["rows"]
    assert "What was deleted after that is back, and keys revoked after that are valid again." in run.err
    assert [path.name for path in own_home.iterdir()] == []


def test_online(database: Database, database_url: str, other_url: str, on: Any, file: Path) -> None:
    """Transactions go on while the backup is written, and each is in it whole or not at all."""
    with database.write() as connection:
        owners = [users.ensure(connection, {name})[name].id for name in ("ann", "bob")]
    done, written = threading.Event(), 0

    def write() -> None:
        nonlocal written
        while not done.is_set():
            with database.write() as connection:
                same = Document(f"d{written}", f"Text {written}.", 1000.0 + written)
                documents.add(connection, [Addition(owner, same) for owner in owners])
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while written < 30:
            assert writer.is_alive()
        began = written
        run = on(database_url, "backup", file)
        assert run.status == 0, run.err
        assert written > began, "nothing was written meanwhile"
    finally:
        done.set()
        writer.join()
    assert on(other_url, "restore", file).status == 0
    with closing(Database(other_url)) as restored:
        assert texts(restored, "ann") == texts(restored, "bob") > {f"Text {number}." for number in range(began)}


def test_a_service_on_the_restored_database(
    filled: Database, database_url: str, on: Any, house: Any, file: Path
) -> None:
    served = house(retriever="bm25")
    url = served.settings.resolved_database_url
    with filled.write() as connection:
        key = keys.create_for_user(connection, "ann")
    assert on(database_url, "backup", file).status == 0
    run = on(url, "restore", file, "--replace")
    assert run.status == 1
    assert run.err.startswith(
        "pearl: A server of PEARL's uses the database, or it is being replaced; stop `pearl serve`"
    )
    assert transfer.rows_of(served.database) == 0
    served.client.__exit__()
    assert on(url, "restore", file).status == 0
    served = house(retriever="bm25", database_url=url)
    drafted = served.client.post("/v1/drafts", json={"request": "q"}, headers={"Authorization": f"Bearer {key}"})
    assert drafted.status_code == 200
    assert "Dear Bo." in texts(served.database)


def damaged(whole: bytes) -> Iterator[tuple[str, bytes, str]]:
    for size in (0, 10, 80, 300, len(whole) // 2, len(whole) - 1):
        yield f"cut at {size}", whole[:size], "is no backup of PEARL's" if size < 15 else "is damaged"
    for position in (0, 13, 14, 20, 79, 90, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        flipped = bytes([whole[position] ^ 1])
        yield f"a bit at {position}", whole[:position] + flipped + whole[position + 1 :], "is no|is damaged"
    yield "longer", whole + b"\n", "is damaged"
    yield "a later format", whole.replace(b"backup 1", b"backup 2", 1), "written by a later version of PEARL"
    yield "a picture", b"\x89PNG\r\n" + whole, "is no backup of PEARL's"
    yield (
        "a database",
        whole[whole.index(b"SQLite format") :],
        "is an SQLite database, not a backup. Copy it: PEARL_DATA",
    )


def test_what_is_refused(backup: Path, other_url: str, on: Any, tmp_path: Path, subtests: Any) -> None:
    for name, content, message in damaged(backup.read_bytes()):
        with subtests.test(name):
            bad = tmp_path / "bad"
            bad.write_bytes(content)
            for option in ((), ("--check",)):
                run = on(other_url, "restore", bad, *option)
                assert run.status == 2
                assert len(run.err.splitlines()) == 1
                assert run.err.startswith(f"pearl: {bad}: ")
                assert any(words in run.err for words in message.split("|")), run.err
    with closing(Database(other_url)) as database:
        assert database.schema_version()[0] is None  # untouched


def test_a_backup_of_a_later_version(backup: Path, other_url: str, on: Any, tmp_path: Path) -> None:
    (copy := tmp_path / "copy.db").write_bytes(b"whatever")
    backups._pack(BackupMark("9.1.0", "9999", 1.0, {}), copy, tmp_path / "late")
    run = on(other_url, "restore", tmp_path / "late")
    assert run.status == 2
    assert run.err.startswith(f"pearl: {tmp_path / 'late'}: was written by PEARL 9.1.0 with schema 9999; this is PEARL")


RECURSIVE = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 't', 1.0 FROM n"
# what is wrong inside, by what makes it so: statements, or another file in place of the copy
INSIDE: dict[str, tuple[str, ...] | Callable[[bytes], bytes]] = {
    **{f"no {table}": (f"DROP TABLE {table}",) for table in sorted(metadata.tables)},
    "no version": ("DROP TABLE alembic_version",),
    "another version": ("UPDATE alembic_version SET version_num = '0009'",),
    "two versions": ("INSERT INTO alembic_version VALUES ('another')",),
    "a version of bytes": ("UPDATE alembic_version SET version_num = x'ff'",),
    "a view": ("CREATE VIEW v AS SELECT 1",),
    "a view without an end": ("DROP TABLE erasures", f"CREATE VIEW erasures AS {RECURSIVE}"),
    "a trigger": ("CREATE TRIGGER t AFTER DELETE ON documents BEGIN DELETE FROM users; END",),
    "another table": ("CREATE TABLE more (id INTEGER)",),
    "a virtual table": ("CREATE VIRTUAL TABLE more USING fts5(words)",),
    "a computed column": ("ALTER TABLE users ADD COLUMN more GENERATED ALWAYS AS (zeroblob(900000000))",),
    "a check": ("ALTER TABLE users ADD COLUMN more INTEGER CHECK (length(zeroblob(1000)))",),
    "an index of an expression": ("CREATE INDEX more ON users (upper(name))",),
    "another column": ("ALTER TABLE users RENAME COLUMN name TO called",),
    "a text for a number": ("UPDATE users SET history_version = 'many'",),
    "a large number": ("UPDATE users SET history_version = 1 << 40",),
    "a time without an end": ("UPDATE users SET created_at = 9e999",),
    "a text for a time": ("UPDATE drafts SET created_at = 'soon'",),
    "bytes for a text": ("UPDATE documents SET text = x'ff'",),
    "a NUL": ("UPDATE documents SET text = 'a' || char(0)",),
    "a long name": ("UPDATE users SET name = hex(zeroblob(1000)) || id",),
    "no JSON": ("UPDATE drafts SET retrieval = '{'",),
    "deep JSON": (f"UPDATE drafts SET retrieval = '{'[' * 100_000}'",),
    "a number that is none": ("UPDATE sqlite_sequence SET seq = 'many'",),
    "a row of nobody": ("UPDATE documents SET user_id = user_id + 999",),
    "one row less": ("DELETE FROM feedback",),
    "nothing": lambda copy: b"",
    "no database": lambda copy: b"no database" * 1_000,
    "cut": lambda copy: copy[: len(copy) // 2],
    "zeros": lambda copy: copy[:8_192] + bytes(len(copy) - 8_192),
    "pages in a circle": lambda copy: copy[:8_192] + copy[:4_096] * (len(copy) // 4_096 - 2),
}
MARKS: dict[str, Any] = {
    "no JSON": b"{",
    "no object": b"[]",
    "no fields": b"{}",
    "a number for a version": {"pearl": 1},
    "a version of many lines": {"pearl": "1\n2"},
    "a number for a schema": {"schema": 11},
    "an early schema": {"schema": "0001"},
    "a text for a time": {"created_at": "soon"},
    "a time that no calendar has": {"created_at": 1e300},
    "a list of rows": {"rows": [1]},
    "texts for rows": {"rows": {"users": "many"}},
    "a long mark": {"pearl": "1" * 100_000},
}


def sealed(mark: bytes, copy: bytes) -> bytes:
    """A backup with a right digest, whatever is in it."""
    return backups.FIRST_LINE + sha256(mark + b"\n" + copy).hexdigest().encode() + b"\n" + mark + b"\n" + copy


def wrong_inside(backup: Path, folder: Path) -> Iterator[tuple[str, bytes]]:
    _, _, mark, copy = backup.read_bytes().split(b"\n", 3)
    for name, change in MARKS.items():
        yield (
            f"mark: {name}",
            sealed(change if isinstance(change, bytes) else json.dumps({**json.loads(mark), **change}).encode(), copy),
        )
    for name, made in INSIDE.items():
        if callable(made):
            yield name, sealed(mark, made(copy))
            continue
        (file := folder / "inside.db").write_bytes(copy)
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for statement in made:
                connection.execute(statement)
            connection.execute("PRAGMA journal_mode=DELETE")
        yield name, sealed(mark, file.read_bytes())


def test_a_right_digest_with_a_wrong_inside(
    backup: Path, other_url: str, on: Any, tmp_path: Path, subtests: Any
) -> None:
    (file := tmp_path / "whole").write_bytes(sealed(*backup.read_bytes().split(b"\n", 3)[2:]))
    assert on(other_url, "restore", file, "--check").status == 0
    for name, content in wrong_inside(backup, tmp_path):
        with subtests.test(name):
            (bad := tmp_path / "bad").write_bytes(content)
            for option in ((), ("--check",)):
                run = on(other_url, "restore", bad, *option)
                assert (run.status, len(run.err.splitlines())) == (2, 1), run.err
                assert run.err.startswith(f"pearl: {bad}: ")
    with closing(Database(other_url)) as database:
        assert database.schema_version()[0] is None  # untouched


def test_a_pipe_is_no_backup(on: Any, other_url: str, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    assert on(other_url, "restore", pipe, "--check").status == 2


def test_what_stays_on_this_machine_stays_there(filled: Database, database_url: str, backup: Path, on: Any) -> None:
    with filled.write() as connection:
        ann = users.get(connection, "ann").id
        before = voices.local_only(connection, ann)
        for name in ("secret", "email"):
            voices.put(connection, ann, name, {"local_only": True})
    for deleted in ("leave-out", "bring-back"):
        run = on(database_url, "restore", backup, "--replace", deleted=deleted)
        assert run.status == 0, run.err
        assert "Still local only, as since the backup: " in run.err
        with filled.read() as connection:
            assert voices.local_only(connection, ann) == before | {"secret", "email"}


def test_a_backup_of_an_earlier_schema(other_url: str, on: Any, tmp_path: Path) -> None:
    revision = schema.known()[0]
    with closing(sqlite3.connect(tmp_path / "early.db")) as connection:
        connection.executescript((SCHEMAS / f"{revision}.sqlite.sql").read_text(encoding="utf-8"))
    backups._pack(BackupMark("0.0.9", revision, 1.0, {}), tmp_path / "early.db", tmp_path / "early")
    run = on(other_url, "restore", tmp_path / "early")
    assert run.status == 0, run.err
    with closing(Database(other_url)) as restored:
        assert "Dear Bo." in texts(restored)


def test_a_database_that_is_not_empty(filled: Database, database_url: str, backup: Path, on: Any) -> None:
    before = contents(filled)
    run = on(database_url, "restore", backup)
    assert run.status == 2
    assert run.err.startswith("pearl: The target is not empty: there are rows in ")
    assert run.err.endswith("Name an empty one (PEARL_HOME, PEARL_DATABASE_URL), or replace all of it: --replace.\n")
    assert contents(filled) == before


def test_what_was_deleted_since_does_not_come_back_unseen(
    filled: Database, database_url: str, backup: Path, on: Any, command: Any, own_home: Path
) -> None:
    state = contents(filled)
    replies = own_home / "calibrations" / "3.sqlite"  # of a user whose number somebody else will have
    replies.parent.mkdir(parents=True)
    replies.touch()
    with filled.write() as connection:
        ann = users.get(connection, "ann")
        documents.remove(connection, ann.id, "a")
        users.remove(connection, users.get(connection, "bob").id)
        keys.revoke(connection, keys.list_all(connection)[0].id)
        late = users.ensure(connection, {"late"})["late"].id
        documents.add(connection, [Addition(ann.id, Document("n", "Newer.", 3.0))])
    changed = contents(filled)
    run = on(database_url, "restore", backup, "--replace")
    assert (run.status, run.err) == (
        2,
        "pearl: The backup holds 1 user, 1 key, 1 document that the database no longer has. Say whether they stay "
        "deleted: --deleted leave-out, or --deleted bring-back.\n",
    )
    assert contents(filled) == changed
    run = on(database_url, "restore", backup, "--replace", deleted="leave-out", json="-")
    assert run.status == 0, run.err
    assert run.json["left_out"] == {"users": 1, "keys": 1, "documents": 1}
    assert texts(filled) == {"Dear Bo."}
    with filled.read() as connection:
        assert users.find(connection, "bob") is None
        assert len(keys.list_all(connection)) == 1
    assert not replies.exists()
    if filled.is_sqlite:
        file = Path(str(filled.engine.url.database))
        assert not any("Grüße" in path.read_bytes().decode(errors="ignore") for path in file.parent.glob("pearl.db*"))
    run = on(database_url, "restore", backup, "--replace", deleted="bring-back")
    assert run.status == 0, run.err
    assert contents(filled) == {**state, "erasures": []}  # done
    with filled.write() as connection:  # numbers never come back
        assert users.ensure(connection, {"new"})["new"].id > late
    again = on(database_url, "restore", backup, "--replace")  # nothing to decide
    assert again.status == 0, again.err


def test_backups_that_stay(filled: Database, database_url: str, on: Any, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    seen = []
    for _ in range(4):
        assert on(database_url, "backup", folder, "--keep", 3).status == 0
        seen.append((folder / "pearl.backup").read_bytes())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "pearl.backup": seen[3],
        "pearl.backup.1": seen[2],
        "pearl.backup.2": seen[1],
    }
    (folder / ".pearl.backup.123.partial").write_text("of a process that was killed")
    assert on(database_url, "backup", folder / "pearl.backup").status == 0
    assert [path.name for path in folder.iterdir()] == ["pearl.backup"]


def test_files_of_others_stay(filled: Database, database_url: str, on: Any, tmp_path: Path) -> None:
    thesis = tmp_path / "thesis.1"
    thesis.write_text("Chapter one")
    for words in ((thesis,), (tmp_path / "thesis", "--keep", 2)):
        run = on(database_url, "backup", *words)
        assert (run.status, run.err) == (
            2,
            f"pearl: {thesis}: is there and is no backup of PEARL's; name another file.\n",
        )
    assert thesis.read_text() == "Chapter one"
    run = on(database_url, "backup", tmp_path / "none" / "b")
    assert (run.status, "there is no folder" in run.err) == (2, True)


def test_what_cannot_be_backed_up(command: Any, own_home: Path, tmp_path: Path) -> None:
    run = command("backup", tmp_path / "b")
    assert run.status == 2
    assert run.err.startswith("pearl: The database is empty: nothing to back up.")
    command("keys", "create", user="ann")
    with closing(Database(f"sqlite:///{own_home / 'pearl.db'}")) as database:
        for revision, message in (
            (
                "0010",
                "The schema is at 0010, not 0012; start 'pearl serve' again, which brings it up to date. Before that",
            ),
            ("9999", "The database's schema is of a later version of PEARL (9999;"),
        ):
            with database.write() as connection:
                connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")
            run = command("backup", tmp_path / "b")
            assert run.status == 1
            assert run.err.startswith(f"pearl: {message}")
            assert database.schema_version()[0] == revision
    assert not (tmp_path / "b").exists()


def test_what_is_read_back_must_be_what_was_written(
    backup: Path, database_url: str, on: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, pack = backup.read_bytes(), backups._pack

    def fail(mark: BackupMark, copy: Path, target: Path) -> None:
        pack(mark, copy, target)
        with target.open("r+b") as written:
            written.seek(5000)
            written.write(b"?")

    monkeypatch.setattr(backups, "_pack", fail)
    run = on(database_url, "backup", backup, "--keep", 2)
    assert run.status == 1
    assert "what was read back is not what was written" in run.err
    assert backup.read_bytes() == before
    assert not backup.with_name("pearl.backup.1").exists()
    assert leftovers(backup.parent) == []


def test_a_full_disk(backup: Path, database_url: str, on: Any, files_of_at_most: Any) -> None:
    before = backup.read_bytes()
    with files_of_at_most(100_000):
        run = on(database_url, "backup", backup)
    assert run.status in (1, 2)
    assert len(run.err.splitlines()) == 1
    assert backup.read_bytes() == before
    assert leftovers(backup.parent) == []


# forks, so that the imports are paid once: each child runs the command and kills itself after some steps, a step being
# a statement, a commit, an fsync or the renaming of a file; or it is killed after a share of the time that the last
# whole run took, wherever it is
KILLED = """
import json, math, os, signal, sys, time
from itertools import count
from pathlib import Path
from sqlalchemy import Engine, event
from pearl.cli.main import run
import alembic.command, service.commands.backup, service.commands.restore


def die(words, after):
    done = count(1)

    def step(*_):
        if next(done) == after:
            os.kill(os.getpid(), signal.SIGKILL)

    for moment in ("after_cursor_execute", "commit"):
        event.listen(Engine, moment, step)
    fsync, replace = os.fsync, Path.replace
    os.fsync = lambda file: (step(), fsync(file), step())
    Path.replace = lambda path, to: (step(), replace(path, to), step())
    run(words)


took = 0.0
for line in sys.stdin:
    steps, share, words = json.loads(line)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        sys.stderr = open(os.devnull, "w")
        die(words, steps)
        os._exit(0)
    until = began + (math.inf if share is None else share * took)
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.002)
    if not ended[0]:
        os.kill(child, signal.SIGKILL)
        ended = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(ended[1])
    if status == 0:
        took = time.monotonic() - began
    print(status, flush=True)
"""
KILLS = int(os.environ.get("PEARL_ENDURE", "0")) * 100 or 3


@contextmanager
def killable(url: str) -> Iterator[Callable[..., int]]:
    """Commands on a database, each killed after some steps or a share of its time, if it is not done by then; they
    return their status."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PEARL_DATABASE_URL": url},
    ) as process:

        def run(*words: object, steps: int = 0, share: float | None = None) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            print(json.dumps([steps, share, [*map(str, words)]]), file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield run


@pytest.mark.slow
def test_a_backup_that_is_killed_leaves_the_one_before(backup: Path, database_url: str) -> None:
    statuses = []
    with killable(database_url) as run:
        for steps in count(1, 23):
            statuses.append(run("backup", backup, "--keep", 2, steps=steps))
            there = [path for path in (backup, backup.with_name("pearl.backup.1")) if path.exists()]
            assert there
            for path in there:
                backups.read(path)
            if statuses[-1] != -9:
                break
    assert statuses[-1] == 0
    assert len(statuses) > 4
    assert leftovers(backup.parent) == []


@pytest.mark.slow
def test_a_restore_that_is_killed_restores_all_or_nothing(filled: Database, backup: Path, other_url: str) -> None:
    statuses, whole = [], contents(filled)
    with killable(other_url) as run:
        for steps in count(1, 29):
            statuses.append(run("restore", backup, steps=steps))
            with closing(Database(other_url)) as target:
                if target.schema_version()[0] is not None and transfer.rows_of(target):
                    assert contents(target) == whole
                    break
    assert set(statuses[:-1]) == {-9}
    assert len(statuses) > 4
    assert contents_at(other_url) == whole


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_backup_killed_at_any_moment(filled: Database, backup: Path, database_url: str) -> None:
    before, mark, chance, kills = contents(filled), backups.read(backup), random.Random(0), 0
    with killable(database_url) as run:
        write = partial(run, "backup", backup, "--keep", 2)
        assert write() == 0
        while kills < KILLS:
            status = write(share=chance.random())
            assert status in (0, -9)
            kills += status == -9
            assert contents(filled) == before
            found = {path.name: path for path in backup.parent.glob("*pearl.backup*") if path.suffix != ".lock"}
            for name, path in found.items():  # what is not whole has no backup's name, and is not taken for one
                try:
                    assert backups.read(path).rows == mark.rows
                except InputError:
                    assert name.endswith(".partial")
            assert found.keys() & {"pearl.backup", "pearl.backup.1"}
            assert write() == 0  # the next one works
    assert leftovers(backup.parent) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_restore_killed_at_any_moment(
    filled: Database, backup: Path, database_url: str, other_url: str, on: Any, own_home: Path
) -> None:
    """It replaces one state by another: the database is as it was or as the backup is, and the next restore works."""

    def state() -> dict[str, list[str]]:
        return {**contents_at(other_url), "erasures": []}  # what is owed after the replacement

    states = [{**contents(filled), "erasures": []}]
    with filled.write() as connection:
        users.ensure(connection, {"late"})
    other = backup.with_name("other.backup")
    assert on(database_url, "backup", other).status == 0
    states.append({**contents(filled), "erasures": []})
    assert on(other_url, "restore", other).status == 0
    chance, kills, turn = random.Random(0), 0, 0
    with killable(other_url) as run:
        sources = [partial(run, "restore", path, "--replace", "--deleted", "bring-back") for path in (backup, other)]
        assert sources[1]() == 0
        while kills < KILLS:
            status = sources[turn](share=chance.random())
            assert status in (0, -9)
            kills += status == -9
            assert state() in (states if status else [states[turn]])
            assert sources[turn]() == 0
            assert state() == states[turn]
            turn = 1 - turn
    assert leftovers(own_home) == []


def test_one_backup_at_a_time(backup: Path, database_url: str, on: Any) -> None:
    from filelock import FileLock

    with FileLock(backup.with_name(".pearl.backup.lock")):
        run = on(database_url, "backup", backup)
    assert (run.status, run.err) == (2, f"pearl: {backup}: another backup is being written there; wait for its end.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("restore", "none"), "pearl: none: No such file or directory\n"),
        (("restore", "."), "pearl: .: Is a directory\n"),
        (("restore", "b", "--deleted", "leave-out"), "pearl: --deleted goes with --replace: an empty database tells"),
        (("restore", "b", "--replace", "--deleted", "yes"), "pearl: --deleted yes: there are leave-out, bring-back.\n"),
        (("backup", "b", "--keep", "0"), "pearl: Invalid value for '--keep'"),
        (("backup", "-"), "pearl: FILE -: cannot be standard input or output; give a path.\n"),
    ],
)
def test_what_cannot_be_asked(command: Any, words: tuple[str, ...], message: str) -> None:
    run = command(*words)
    assert run.status == 2
    assert run.err.startswith(message)
    assert json.dumps(run.out) == '""'
