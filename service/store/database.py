"""The connection to SQLite or PostgreSQL: transactions, migrations, and PEARL's errors instead of the drivers'."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from filelock import ReadWriteLock, Timeout
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from pearl.errors import InputError, PearlError, StoreError
from pearl.extras import missing_extra
from pearl.text.files.whole import private_file, private_folder
from pearl.text.shown_urls import why
from service.store import erasures, schema
from service.store.failures import explain, standby
from service.store.sqlite_files import SqliteFiles
from service.store.tables import metadata

TIMEOUT_S = 10.0  # longest wait for a lock, and for a connection; statements of PostgreSQL may take twice as long
MIGRATION_LOCK = 7_305_204  # any number of ours: PostgreSQL's advisory lock for the time of a migration
SERVED_LOCK = 7_305_205  # that servers share and a restore has alone (PostgreSQL)
IN_USE = StoreError(
    "A server of PEARL's uses the database, or it is being replaced; stop `pearl serve` and `pearl mcp` first.",
    code="store_in_use",
)
ERASURE_WAIT_S = 1.0  # how long the answer to a deletion waits for readers to end
ERASURE_RETRY_S = 0.02
UNHURRIED_S = 600.0  # for a migration or a VACUUM on PostgreSQL
READ_AGAIN = 2_000  # pages of a table with deleted rows that VACUUM reads each time (PostgreSQL): 0.05 s
# How long a migration on PostgreSQL waits for a table: whoever else wants the table waits behind it. Less than the
# server's deadlock_timeout (1 s), so that of a deadlock's two sides the migration gives way.
TABLE_WAIT_S = 0.5


class Database:
    """A database, SQLite or PostgreSQL, with transactions for reading and for writing."""

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float | None = None,
        pool_size: int = 10,
        forget: Callable[[int], None] | None = None,
    ) -> None:
        """Prepare the connections; the first is made when it is needed. ``forget`` is called with a user's row id when
        data of the user are deleted, to delete what quotes these data outside of the database.

        Raises InputError if the URL cannot be used.
        """
        self._timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
        self.engine, self._files = _create_engine(url, self._timeout_s, pool_size)
        self._options = {"pearl_forget": forget}
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._file = self.engine.url.database if self.is_sqlite else None
        self._erased = False  # since the last `clean_indexes` (PostgreSQL)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that reads one state of the data (a snapshot); yield its connection. Raises StoreError."""
        with self._translated(to_write=False), self.engine.connect() as connection:
            if not self.is_sqlite:  # there a transaction sees one state of the data anyway
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextmanager
    def write(self, within_s: float | None = None, *, deletes: bool = False) -> Iterator[Connection]:
        """Open a transaction for writing, and yield its connection. All its changes are stored, or none after an error.

        ``within_s``: how long to wait for a lock, in place of the usual time. ``deletes``: the transaction may use the
        disk space that is reserved for deletions. Raises StoreError (store_locked) if the lock does not come in time.
        """
        if deletes and self._files is not None:
            self._files.give_room()
        with self._translated(), self.engine.connect() as connection:
            connection = connection.execution_options(pearl_write=True, pearl_within_s=within_s, **self._options)
            with connection.begin():
                if within_s is not None and not self.is_sqlite:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_milliseconds(within_s)}")
                yield connection
            if self._files is not None:
                self._files.check_kept()

    @contextmanager
    def _translated(self, *, to_write: bool = True) -> Iterator[None]:
        try:
            if self._files is not None:
                self._files.check(to_write=to_write)
            yield
        except PearlError:
            raise
        except DBAPIError as error:
            raise explain(error, self._file) from error
        except PoolTimeoutError as error:
            raise StoreError(
                "Too many calls wait for the database; try again.", code="store_timeout", retry_after=1.0
            ) from error
        except UnicodeEncodeError as error:  # of a command line whose bytes are not UTF-8
            raise InputError(
                "A name or id is not UTF-8 text; check the terminal's encoding.", code="not_utf8"
            ) from error

    def migrate(self) -> None:
        """Upgrade the schema to the newest revision. If several processes start at once, only one of them does it.

        Raises StoreError for the schema of a later version, or of one that is too early.
        """
        error = schema.trouble(self.schema_version()[0])
        if error is None:
            return
        if error.code != "schema_missing":
            raise error
        deadline = time.monotonic() + UNHURRIED_S
        while True:
            try:
                self._upgrade()
                break
            except StoreError as locked:  # by a long reader, as a backup is: other processes work on meanwhile
                if self.is_sqlite or locked.code != "store_locked" or time.monotonic() > deadline:
                    raise
            time.sleep(TABLE_WAIT_S)

    def _upgrade(self) -> None:
        with self._translated(), self.engine.connect() as connection:
            if self.is_sqlite:
                connection = connection.execution_options(pearl_write=True)
            with connection.begin():
                if self.is_sqlite:
                    schema.upgrade(connection)
                    return
                with _unhurried(connection):
                    connection.execute(text("SET LOCAL lock_timeout = 0"))  # another's migration is worth waiting for
                    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
                    connection.execute(text(f"SET LOCAL lock_timeout = {_milliseconds(TABLE_WAIT_S)}"))
                    schema.upgrade(connection)

    def schema_version(self, *, to_write: bool = False) -> tuple[str | None, str]:
        """Return the database's revision and the newest revision that this code knows. ``to_write``: also check,
        without a write or a lock, that data can be stored. Raises StoreError if they cannot."""
        with self.read() as connection:
            version = schema.current(connection), schema.known()[1]
            if to_write:
                self._check_writable(connection)
        return version

    def _check_writable(self, connection: Connection) -> None:
        if self._files is not None:
            self._files.check(to_write=True)
            self._files.check_room()
        elif connection.execute(text("SELECT pg_is_in_recovery()")).scalar_one():
            raise standby()

    def keep_room(self) -> None:
        """Reserve some disk space for deletions (SQLite)."""
        if self._files is not None:
            self._files.keep_room()

    def forget_deleted(self, within_s: float = ERASURE_WAIT_S) -> bool:
        """Erase deleted data from the database's files, too, as far as the database can. Return False if that is not
        done within ``within_s``: a reader that began before the deletion may still be using the data.

        SQLite overwrites freed pages (``secure_delete``), and this empties its write-ahead log. On PostgreSQL a VACUUM
        frees the pages; the operator has to expire its log and backups.
        """
        with self.read() as connection:
            owed = erasures.newest(connection)
        deadline = time.monotonic() + within_s
        with self._translated():
            erase = self._empty_wal if self.is_sqlite else self._vacuum
            while not erase():
                if time.monotonic() > deadline:
                    return False
                time.sleep(ERASURE_RETRY_S)
        if owed is not None:
            with self.write() as connection:
                erasures.settle(connection, owed)
        return True

    def erase_owed(self) -> bool:
        """Try again to erase from the files what was deleted earlier; True if nothing is left to erase."""
        with self.read() as connection:
            if erasures.newest(connection) is None:
                return True
        return self.forget_deleted(within_s=0.0)

    def _empty_wal(self) -> bool:
        with self.engine.connect() as connection:
            # no one can write while a checkpoint waits, so it waits briefly, but often
            connection.exec_driver_sql(f"PRAGMA busy_timeout={int(ERASURE_RETRY_S * 1000)}")
            try:
                busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={int(self._timeout_s * 1000)}")
        return busy == 0

    def _vacuum(self) -> bool:
        with self.engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if erasures.still_seen(connection):
                return False
            with _unhurried(connection):
                connection.exec_driver_sql(f"VACUUM {', '.join(table.name for table in metadata.sorted_tables)}")
        self._erased = True
        return True

    def clean_indexes(self, read_again: int = READ_AGAIN) -> None:
        """On PostgreSQL, remove index entries of rows that this process erased, if each VACUUM would otherwise read
        more than ``read_again`` pages of a table.

        VACUUM itself keeps such entries until a fiftieth of a table's pages has deleted rows, and takes longer with
        every erasure: among 2 million documents half a second instead of 0.05.
        """
        if not self._erased:
            return
        self._erased = False
        with self._translated(), self.engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if names := erasures.read_again(connection, read_again):
                with _unhurried(connection):  # another worker may be doing it
                    connection.exec_driver_sql(f"VACUUM (INDEX_CLEANUP ON, SKIP_LOCKED) {', '.join(names)}")

    @contextmanager
    def served(self) -> Iterator[None]:
        """Hold the database as one of its servers. Raises StoreError (store_in_use) while a restore replaces it."""
        if self.is_sqlite:
            with self._locked("read"):
                yield
            return
        self.engine.dispose()
        event.listen(
            self.engine, "connect", _hold
        )  # each connection does; one at least is open as long as this process
        with self.read():
            pass
        yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the database so that no server can use it. Raises StoreError (store_in_use) while one uses it."""
        if self.is_sqlite:
            with self._locked("write"):
                yield
            return
        with self._translated(), self.engine.connect() as connection:
            # without a transaction, which would keep deleted rows from being removed
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": SERVED_LOCK}):
                raise IN_USE
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": SERVED_LOCK})

    @contextmanager
    def _locked(self, kind: str) -> Iterator[None]:
        lock = ReadWriteLock(f"{self._file}-served", is_singleton=False)
        try:
            acquired = getattr(lock, f"{kind}_lock")(blocking=False)
            with closing(lock), acquired:
                yield
        except Timeout:
            raise IN_USE from None

    def close(self) -> None:
        self.engine.dispose()


def _hold(connection: Any, _record: object) -> None:
    connection.execute("SELECT pg_advisory_lock_shared(%s)", (SERVED_LOCK,))
    connection.commit()


@contextmanager
def _unhurried(connection: Connection) -> Iterator[None]:
    """Raise the time limit of PostgreSQL's statements within the block, for a migration or a VACUUM."""
    driver: Any = connection.connection.dbapi_connection
    limit_s, driver.limit_s = driver.limit_s, UNHURRIED_S
    connection.exec_driver_sql("SET statement_timeout = 0")
    try:
        yield
    finally:
        driver.limit_s = limit_s
        with suppress(DBAPIError):  # the end of a transaction that failed takes the setting back, too
            connection.exec_driver_sql("RESET statement_timeout")


def _check_encoding(connection: Any, _record: object) -> None:
    """Raise InputError for a PostgreSQL database that cannot hold every character."""
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        raise InputError(
            f"PEARL_DATABASE_URL names a database with the encoding {encoding}; make one with UTF8: "
            "createdb --encoding UTF8 --template template0 pearl",
            code="invalid_database_url",
        )


def _create_engine(url: str, timeout_s: float, pool_size: int) -> tuple[Engine, SqliteFiles | None]:
    try:
        parsed = make_url(url)
        if "@" in (parsed.host or ""):
            raise ValueError("the host has an @, of the password")
        if parsed.drivername in ("postgresql", "postgres"):  # as everybody writes it; psycopg is the driver we have
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() == "sqlite":
            if parsed.database in (None, "", ":memory:"):  # every thread would get a separate database
                raise InputError("PEARL_DATABASE_URL names no file; use sqlite:///FILE.", code="invalid_database_url")
            if "?" in url and not parsed.query:
                raise InputError(
                    "PEARL_DATABASE_URL has a '?' that begins no option; a file's name has %3F for it.",
                    code="invalid_database_url",
                )
            file = Path(parsed.database)
            _make_folder(file.parent)
            engine = create_engine(
                parsed, connect_args={"timeout": timeout_s}, pool_size=pool_size, pool_timeout=timeout_s
            )
            event.listen(engine, "do_connect", lambda *_: _keep_private(file))
            files = SqliteFiles(file)
            event.listen(engine, "connect", partial(_prepare_sqlite, timeout_s))
            event.listen(engine, "connect", lambda *_: files.note_opened())
            event.listen(engine, "begin", _begin_sqlite)
            return engine, files
        if parsed.get_backend_name() == "postgresql":
            # what the URL says itself comes behind ours, so that it counts
            from service.store import postgres

            limits = {"lock_timeout": timeout_s, "statement_timeout": postgres.STATEMENT * timeout_s}
            ours = " ".join(f"-c {name}={_milliseconds(seconds)}" for name, seconds in limits.items())
            options = f"{ours} {parsed.query.get('options', '')}".strip()
            # whatever the database's encoding, SQLAlchemy's first question needs an answer in text
            arguments = {"options": options, "client_encoding": "utf8"}
            if "connect_timeout" not in parsed.query:  # psycopg knows none, and takes no fraction
                arguments["connect_timeout"] = str(math.ceil(timeout_s))
            engine = create_engine(
                parsed, pool_size=pool_size, pool_pre_ping=True, pool_timeout=timeout_s, connect_args=arguments
            )
            event.listen(
                engine, "do_connect", lambda dialect, record, given, named: postgres.connect(timeout_s, *given, **named)
            )
            event.listen(engine, "connect", _check_encoding)
            return engine, None
    except (ArgumentError, NoSuchModuleError, ImportError, OSError, ValueError) as error:
        if isinstance(error, ModuleNotFoundError) and (missing := missing_extra(error.name or "")):
            raise missing from None
        raise InputError(f"PEARL_DATABASE_URL cannot be used: {why(error, url)}", code="invalid_database_url") from None
    raise InputError(
        f"PEARL_DATABASE_URL names {parsed.get_backend_name()}; use sqlite:///FILE or postgresql://...",
        code="invalid_database_url",
    )


def _make_folder(folder: Path) -> None:
    try:
        private_folder(folder)
    except OSError as error:
        raise InputError(
            f"The database's folder {folder} cannot be made: {error.strerror}. PEARL_HOME names it, or "
            "PEARL_DATABASE_URL the file.",
            code="invalid_database_url",
        ) from error


def _keep_private(file: Path) -> None:
    private_file(file)
    for companion in ("-wal", "-shm"):  # new ones take the mode of the database
        if (beside := file.with_name(file.name + companion)).exists():
            private_file(beside)


def _prepare_sqlite(timeout_s: float, connection: Any, record: Any) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late; ours is in _begin_sqlite
    _switch_to_wal(connection, time.monotonic() + timeout_s)
    # FULL: what was acknowledged is on the disk, also when the power fails
    # mmap_size: a file that is cut would end the process
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")


def _switch_to_wal(connection: Any, deadline: float) -> None:
    """Turn the write-ahead log on. Try again while another program opens the new file, since SQLite does not wait
    here."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    begin = "BEGIN IMMEDIATE" if options.get("pearl_write", False) else "BEGIN"
    within_s = options.get("pearl_within_s")
    if within_s is None:
        connection.exec_driver_sql(begin)
        return
    usual = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
    connection.exec_driver_sql(f"PRAGMA busy_timeout={_milliseconds(within_s)}")
    try:
        connection.exec_driver_sql(begin)
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={usual}")


def _milliseconds(seconds: float) -> int:
    """Convert seconds to milliseconds, at least 1: PostgreSQL takes 0 for no limit."""
    return max(1, int(seconds * 1000))
