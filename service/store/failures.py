"""Translate errors of the databases' drivers into PEARL's own, which say what is wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.exc import DBAPIError

from pearl.errors import StoreError
from service.store.sqlite_files import disk_fails, disk_full, of_file, read_only

# what went wrong: codes of PostgreSQL (its manual's appendix A), beginnings of the drivers' messages
LOCKED = ("55P03", "40P01", "database is locked", "database table is locked", "database schema is locked")
SLOW = ("57014", "no answer in time")
FULL = ("53100", "database or disk is full")
NO_ROOM_TO_OPEN = "SQLITE_IOERR_SHMSIZE"  # the shared-memory file next to the database cannot grow
BROKEN_DISK = ("disk i/o error",)
READ_ONLY = ("25006", "0A000")  # a statement that writes, and "BEGIN READ WRITE" on a standby
NOT_WRITABLE = ("attempt to write a readonly",)
DAMAGED = ("database disk image is malformed",)
FORBIDDEN = ("42501",)
NO_SCHEMA = ("42P01", "42703", "no such table", "no such column", "has no column named")
CLOSED = ("unable to open database file", "file is not a database")


def standby() -> StoreError:
    """Make the error for a PostgreSQL server that takes no changes."""
    return StoreError(
        "PostgreSQL takes no changes: it is a standby, or was set read-only. Name its primary in PEARL_DATABASE_URL, "
        "or let it write again.",
        code="store_read_only",
    )


def explain(error: DBAPIError, file: str | None) -> StoreError:
    """Translate a driver's error into PEARL's own; ``file``: the SQLite database's file, None on PostgreSQL."""
    sqlstate = getattr(error.orig, "sqlstate", None)
    cause = sqlstate or str(error.orig).lower()

    def is_one_of(known: tuple[str, ...]) -> bool:
        return cause.startswith(known)

    if is_one_of(LOCKED):
        return StoreError(
            "The database is locked by another program; try again when it is done.",
            code="store_locked",
            retry_after=1.0,
        )
    if is_one_of(SLOW):
        return StoreError(
            "The database did not answer in time; try again. Its operator finds out why in its server's log.",
            code="store_timeout",
            retry_after=1.0,
        )
    if is_one_of(FULL) or getattr(error.orig, "sqlite_errorname", None) == NO_ROOM_TO_OPEN:
        return disk_full(Path(file).resolve().parent if file is not None else Path("the database's server"))
    if is_one_of(BROKEN_DISK) and file is not None:  # SQLite says no more: the system may have made the disk read-only
        return disk_fails(Path(file).resolve().parent)
    if is_one_of(NOT_WRITABLE) and file is not None:
        return read_only(file)
    if is_one_of(DAMAGED) and file is not None:
        return of_file(
            "{file} is damaged. Stop PEARL, keep a copy of the file, and restore a backup (move the file away, then "
            "pearl restore) or what `sqlite3 FILE .recover` saves of it.",
            file,
            "store_damaged",
        )
    if is_one_of(READ_ONLY):
        return standby()
    if is_one_of(FORBIDDEN):
        return StoreError(
            "PostgreSQL does not let the role of PEARL_DATABASE_URL do that; make it the owner of the database and its "
            "tables (ALTER DATABASE ... OWNER TO ..., ALTER TABLE ... OWNER TO ...).",
            code="store_forbidden",
        )
    if is_one_of(NO_SCHEMA):
        return StoreError(
            "The database's schema is not that of this version of PEARL; start 'pearl serve' of the newest version "
            "again, which brings it up to date.",
            code="schema_missing",
        )
    if is_one_of(CLOSED) and file is not None:
        return of_file(
            f"{{file}} cannot be opened: {cause}. PEARL_HOME names its folder, which must be writable, or "
            "PEARL_DATABASE_URL the file.",
            f"The database {file}",
            "store_unreachable",
        )
    if file is None and error.statement is None and sqlstate is None and not error.connection_invalidated:
        # the error of a connection, not of a statement: its words quote no text, and begin with the server's address
        reason = " ".join(str(error.orig).partition("\n")[0].rpartition(" failed: ")[2].split())
        return StoreError(
            f"The database cannot be opened ({reason}); check PEARL_DATABASE_URL, and that its server runs.",
            public="The database's server does not answer.",
            code="store_unreachable",
            retry_after=1.0,
        )
    # the driver's words may quote stored texts, so only the kind of the error is passed on
    return StoreError(f"The database could not answer ({type(error.orig).__name__}).", retry_after=1.0)
