"""Backups. A backup is a file with a first line, the SHA-256 of all that follows, a version mark, and a copy of the
database as an SQLite file, even if the database itself is PostgreSQL's."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from glob import escape
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from filelock import FileLock, Timeout
from pydantic import Field, TypeAdapter, ValidationError
from sqlalchemy import JSON, BigInteger, Boolean, Column, Connection, Float, Integer, LargeBinary, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex

from pearl import __version__
from pearl.errors import InputError, StoreError
from pearl.text.files.whole import FILE_MODE, replaced_file
from pearl.text.history.files import located
from service.store import documents, keys, schema, tables, transfer, users, voices
from service.store.database import Database
from service.store.tables import metadata

KIND = b"PEARL backup "
FIRST_LINE = KIND + b"1\n"
DIGEST_CHARACTERS = 64
LONGEST_MARK = 1 << 16  # bytes
LAST_YEAR = 253_402_300_800  # 10000, of which no calendar knows
PIECE = 1 << 20  # bytes that are read at a time


@dataclass(frozen=True, slots=True)
class BackupMark:
    """The mark of a backup: the version that wrote it, its time, and its numbers of rows."""

    pearl: Annotated[str, Field(pattern=r"^[\w.+-]{1,40}$")]  # the version that wrote it
    schema: Annotated[str, Field(pattern=r"^\d{4}$")]  # the revision of the database's schema
    created_at: Annotated[float, Field(ge=0, lt=LAST_YEAR)]
    rows: dict[str, int]  # by table


@dataclass(slots=True)
class Deleted:
    """The users, keys and documents of a backup that were deleted from the database later."""

    users: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)  # ids
    documents: list[tuple[str, str]] = field(default_factory=list)  # user and id

    def counts(self) -> dict[str, int]:
        return {name: len(items) for name, items in asdict(self).items()}


def copy_at(file: Path) -> Database:
    """Open the database in an SQLite file."""
    return Database(f"sqlite:///{quote(str(file))}")


def write(
    database: Database, path: Path, folder: Path, *, keep: int = 1, advance: Callable[[int], None] = lambda rows: None
) -> BackupMark:
    """Write a consistent backup, and return its mark. The backup is read back and verified before it is moved to
    ``path``.

    ``keep``: the number of backups to keep; the earlier backup gets a number behind its name, the oldest is deleted.
    ``folder``: for a temporary copy. Raises InputError if ``path`` is another kind of file, or while another backup is
    written there; StoreError if the backup read back differs from what was written.
    """
    path = path.resolve()
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, keep))]
    _check_replaceable(names)
    lock = path.with_name(f".{path.name}.lock")
    try:
        with FileLock(lock, timeout=0, mode=FILE_MODE):
            for killed in path.parent.glob(f".{escape(path.name)}.*.partial"):  # its process did not end its work
                killed.unlink()
            try:
                mark = _write(database, names, folder / "copy.db", advance)
            finally:
                lock.unlink(missing_ok=True)
            _delete_beyond(path, keep)
            return mark
    except Timeout:
        raise InputError(f"{path}: another backup is being written there; wait for its end.") from None


def read(path: Path, into: Path | None = None) -> BackupMark:
    """Read and check a whole backup, and return its mark; with ``into``, also write its database to that new file.

    Raises InputError if the file is no backup, damaged, or of a later version.
    """
    if path.is_fifo():
        raise InputError(f"{path}: is a pipe; write it to a file and name that.")
    try:
        with path.open("rb") as file:
            if (first := file.readline(len(FIRST_LINE))) != FIRST_LINE:
                raise _other(path, first)
            expected, found = file.read(DIGEST_CHARACTERS + 1), sha256()
            found.update(line := file.readline(LONGEST_MARK))
            with (into or Path(os.devnull)).open("wb") as copy:
                while piece := file.read(PIECE):
                    found.update(piece)
                    copy.write(piece)
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror}") from error
    if expected != found.hexdigest().encode() + b"\n":
        raise InputError(f"{path}: is damaged: cut off or changed since it was written. Take another backup.")
    try:
        mark = TypeAdapter(BackupMark).validate_json(line)
    except ValidationError as error:
        what = ".".join(map(str, error.errors()[0]["loc"])) or "its mark"
        raise InputError(f"{path}: is damaged: {what} is wrong. Take another backup.") from None
    if mark.schema < schema.known()[0]:
        raise InputError(
            f"{path}: was written by PEARL {mark.pearl} with schema {mark.schema}, too early for this version."
        )
    if mark.schema > schema.known()[1]:
        raise InputError(
            f"{path}: was written by PEARL {mark.pearl} with schema {mark.schema}; this is PEARL {__version__}, which "
            f"knows {schema.known()[1]}. Install that version or a later one."
        )
    return mark


def deleted_since(backup: Database, present: Database) -> Deleted:
    """Find the users, keys and documents that the backup's copy holds and the present database no longer does."""
    found = Deleted()
    with backup.read() as then, present.read() as now:
        found.keys = sorted(set(then.scalars(select(tables.keys.c.id))) - set(now.scalars(select(tables.keys.c.id))))
        named = select(tables.users.c.name, tables.users.c.id).order_by(tables.users.c.name)
        there = {row.name: row.id for row in now.execute(named)}
        for row in then.execute(named):
            if row.name not in there:
                found.users.append(row.name)
            else:
                gone = _document_ids(then, row.id) - _document_ids(now, there[row.name])
                found.documents += ((row.name, document_id) for document_id in sorted(gone))
    return found


def keep_local(backup: Database, present: Database) -> int:
    """Make voices of the backup's copy local only if they are local only in the present database; return how many
    changed."""
    users_, voices_ = tables.users.c, tables.voices.c
    here = select(users_.name, voices_.name).join(tables.voices, voices_.user_id == users_.id).where(voices_.local_only)
    changed = 0
    with present.read() as now, backup.write() as then:
        for user, voice in now.execute(here).all():
            if (known := users.find(then, user)) is not None and voice not in voices.local_only(then, known.id):
                voices.put(then, known.id, voice, {"local_only": True})
                changed += 1
    return changed


def open_copy(path: Path, copy: Path) -> tuple[BackupMark, Database]:
    """Write a backup's database into the new file ``copy``, check all of it, and upgrade its schema. Raises InputError
    as :func:`read` does, and for a database that is not valid."""
    mark = read(path, copy)
    database = copy_at(copy)
    try:
        with located(str(path)):
            check_schema(copy, mark.schema)
            database.migrate()
            check_rows(database, mark.rows)
    except BaseException as error:
        database.close()
        if isinstance(error, StoreError):
            raise InputError(f"{path}: is damaged: {error.message}") from None
        raise
    return mark, database


def leave_out(backup: Database, deleted: Deleted) -> None:
    """Delete from the backup's copy what was deleted since the backup, in the way the service deletes it."""
    with backup.write() as connection:
        for name, document_id in deleted.documents:
            documents.remove(connection, users.get(connection, name).id, document_id)
        for key_id in deleted.keys:
            keys.revoke(connection, key_id)
        for name in deleted.users:
            users.remove(connection, users.get(connection, name).id)


def _document_ids(connection: Connection, user_id: int) -> set[str]:
    return set(connection.scalars(select(tables.documents.c.document_id).where(tables.documents.c.user_id == user_id)))


def _check_replaceable(names: list[Path]) -> None:
    """Check that a new backup would replace no other file. Raises InputError if a file is no backup."""
    for name in names:
        if name.exists() and not (name.is_file() and _is_backup(name)):
            raise InputError(f"{name}: is there and is no backup of PEARL's; name another file.")


def _is_backup(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(KIND)) == KIND


def _write(database: Database, names: list[Path], copy: Path, advance: Callable[[int], None]) -> BackupMark:
    created_at = time.time()
    with closing(copy_at(copy)) as target:
        target.migrate()
        rows = transfer.copy_all(database, target, advance)
    mark = BackupMark(__version__, schema.known()[1], created_at, rows)
    with replaced_file(names[0], private=True) as partial:
        _pack(mark, copy, partial)
        try:
            same = read(partial) == mark
        except InputError:
            same = False
        if not same:
            raise StoreError(
                f"{names[0]}: what was read back is not what was written; the disk may be failing. The backup that was "
                "there stays."
            )
        for older, newer in pairwise(reversed(names)):
            with suppress(FileNotFoundError):
                newer.replace(older)
    _sync_folder(names[0].parent)
    return mark


def _pack(mark: BackupMark, copy: Path, target: Path) -> None:
    digest = sha256()
    with target.open("wb") as file:
        file.write(FIRST_LINE + b"0" * DIGEST_CHARACTERS + b"\n")
        for piece in chain((orjson.dumps(mark) + b"\n",), _pieces(copy)):
            digest.update(piece)
            file.write(piece)
        file.seek(len(FIRST_LINE))
        file.write(digest.hexdigest().encode())
        file.flush()
        os.fsync(file.fileno())


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def _delete_beyond(path: Path, keep: int) -> None:
    """Delete the backups whose number is ``keep`` or higher: fewer are kept than before."""
    while (older := path.with_name(f"{path.name}.{keep}")).is_file() and _is_backup(older):
        older.unlink()
        keep += 1


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every system opens a folder
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _other(path: Path, first: bytes) -> InputError:
    """Make the error for a file that does not begin as a backup of this version does."""
    if first.startswith(KIND):
        return InputError(f"{path}: is damaged, or was written by a later version of PEARL; install that.")
    if first.startswith(b"SQLite format 3"[: len(FIRST_LINE)]):
        return InputError(
            f"{path}: is an SQLite database, not a backup. Copy it: PEARL_DATABASE_URL=sqlite:///{path} pearl move "
            "--to URL"
        )
    return InputError(f"{path}: is no backup of PEARL's.")


OTHERS = {schema.TABLE, "sqlite_sequence"}
COMPUTES = re.compile(r"\b(?:CHECK|GENERATED|VIRTUAL|COLLATE)\b", re.IGNORECASE)
UNREADABLE = (StoreError, ValueError, TypeError, OverflowError, RecursionError)


def check_schema(copy: Path, revision: str) -> None:
    """Check a backup's SQLite file. Raises InputError if it is damaged, at another revision, or has unknown tables."""
    try:
        with closing(sqlite3.connect(f"{copy.resolve().as_uri()}?immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            for kind, name, code in connection.execute("SELECT type, name, sql FROM sqlite_master"):
                if not _is_ours(str(kind), str(name), " ".join(str(code or "").split())):
                    raise _damaged(f"it holds a {kind} that no backup has")
            if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                raise _damaged("its database is not whole")
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise _damaged("a row belongs to one that is missing")
            if connection.execute(f"SELECT version_num FROM {schema.TABLE}").fetchall() != [(revision,)]:
                raise _damaged("its database has another schema than it says")
            if connection.execute("SELECT 1 FROM sqlite_sequence WHERE typeof(seq) != 'integer'").fetchone():
                raise _damaged("a number is none")
    except sqlite3.Error as error:
        raise _damaged(f"its database cannot be read ({type(error).__name__})") from None


def check_rows(database: Database, counts: dict[str, int]) -> None:
    """Check all rows. Raises InputError if a value does not fit its column, or a row count differs from ``counts``."""
    for table in metadata.sorted_tables:
        rows = 0
        try:
            with database.read() as connection:
                for row in connection.execute(select(table).execution_options(yield_per=100)):
                    rows += 1
                    for column, value in zip(table.columns, row, strict=True):
                        if not _fits(column, value):
                            raise _damaged(f"{table.name}.{column.name} holds what it cannot hold")
        except UNREADABLE:
            raise _damaged(f"a row of {table.name} cannot be read") from None
        if counts.get(table.name, rows) != rows:
            raise _damaged(f"{table.name} has {rows:,} rows, not {counts[table.name]:,}")


def _is_ours(kind: str, name: str, code: str) -> bool:
    if kind == "table":
        return (name in metadata.tables or name in OTHERS) and not COMPUTES.search(code)
    indexes = (index for table in metadata.tables.values() for index in table.indexes)
    made = (" ".join(str(CreateIndex(index).compile(dialect=sqlite.dialect())).split()) for index in indexes)
    return kind == "index" and (not code or code in made)


def _fits(column: Column[Any], value: Any) -> bool:
    kind = column.type
    if value is None or isinstance(kind, JSON):
        return value is not None or bool(column.nullable)
    if isinstance(kind, Boolean):
        return value in (True, False)
    if isinstance(kind, Float):
        return isinstance(value, int | float) and math.isfinite(value)
    if isinstance(kind, Integer):
        return isinstance(value, int) and abs(value) < 2 ** (63 if isinstance(kind, BigInteger) else 31)
    if isinstance(kind, LargeBinary):
        return isinstance(value, bytes)
    return isinstance(value, str) and "\0" not in value and len(value) <= (getattr(kind, "length", None) or len(value))


def _damaged(why: str) -> InputError:
    return InputError(f"is damaged: {why}. Take another backup.")
