"""Copy everything from one database into another, SQLite or PostgreSQL, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, inspect, select, text
from sqlalchemy.exc import DataError, IntegrityError

from pearl.errors import InputError, StoreError
from service.store.database import Database
from service.store.schema import TABLE as VERSION_TABLE
from service.store.tables import metadata

ROWS_AT_ONCE = 100  # in memory; a document may have a megabyte


@dataclass(slots=True)
class Content:
    """The number of a table's rows, and a digest of the rows that does not depend on their order."""

    rows: int = 0
    digest: int = 0  # the sum of the rows' SHA-256

    def add(self, row: Row[Any]) -> None:
        self.rows += 1
        self.digest += int.from_bytes(sha256(repr(tuple(row)).encode()).digest())


def copy_all(
    source: Database, target: Database, advance: Callable[[int], None] = lambda rows: None, *, replaces: bool = False
) -> dict[str, int]:
    """Copy all rows with their ids, or none; return the number of rows by table. ``advance`` is called with the number
    of rows of each batch. ``replaces``: delete the target's rows first, in the same transaction.

    Both schemas must be up to date. Raises InputError if the target is not empty, StoreError if something cannot be
    copied, or if the target's rows afterwards differ from the source's.
    """
    with source.read() as reading, target.write(deletes=replaces) as writing:
        if replaces:
            _empty(writing)
        check_empty(writing)
        read = {table.name: _copy(table, reading, writing, advance) for table in metadata.sorted_tables}
        _carry_on_numbering(reading, writing)
        for table in metadata.sorted_tables:
            if read[table.name] != _content(writing, table):
                raise StoreError(f"The rows of '{table.name}' differ after copying; nothing was written.")
    return {str(name): content.rows for name, content in read.items()}


def check_usable(target: Database, *, to_replace: bool = False) -> None:
    """Check the target of a copy before its schema is made. Raises InputError if it holds another program's tables, or
    if it holds rows and they are not ``to_replace``."""
    with target.read() as connection:
        names = set(inspect(connection).get_table_names())
        if names and VERSION_TABLE not in names:
            raise InputError("The target holds tables of another program; name an empty database.", param="to")
        if not to_replace:
            check_empty(connection, names)


def rows_of(database: Database) -> int:
    """Count the rows of all tables."""
    with database.read() as connection:
        return sum(connection.scalar(select(func.count()).select_from(table)) or 0 for table in metadata.sorted_tables)


def check_empty(connection: Connection, among: set[str] | None = None) -> None:
    """Check that the tables named in ``among``, or all tables, have no rows. Raises InputError if one has."""
    filled = [
        table.name
        for table in metadata.sorted_tables
        if (among is None or table.name in among) and connection.execute(select(table.c[0]).limit(1)).first()
    ]
    if filled:
        raise InputError(
            f"The target is not empty: there are rows in {', '.join(filled)}. Name an empty database.",
            param="to",
            code="not_empty",
        )


def _empty(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":  # quick whatever there is, and the rows' bytes go at once
        connection.execute(text(f"TRUNCATE {', '.join(table.name for table in metadata.sorted_tables)}"))
        return
    for table in reversed(metadata.sorted_tables):
        connection.execute(delete(table))


def _copy(table: Table, reading: Connection, writing: Connection, advance: Callable[[int], None]) -> Content:
    content = Content()
    try:
        for batch in _batches(reading, table):
            for alike in _by_columns([dict(row._mapping) for row in batch]):
                writing.execute(insert(table), alike)
            for row in batch:
                content.add(row)
            advance(len(batch))
    except (DataError, IntegrityError) as error:
        raise StoreError(
            f"A row of '{table.name}' cannot be copied ({type(error.orig).__name__}); nothing was written."
        ) from error
    return content


def _content(connection: Connection, table: Table) -> Content:
    content = Content()
    for batch in _batches(connection, table):
        for row in batch:
            content.add(row)
    return content


def _batches(connection: Connection, table: Table) -> Iterator[list[Row[Any]]]:
    with connection.execute(select(table).execution_options(yield_per=ROWS_AT_ONCE)) as rows:
        for batch in rows.partitions():
            yield list(batch)


def _by_columns(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows without columns that are NULL (None would become a JSON null), in groups with the same columns."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        values = {name: value for name, value in row.items() if value is not None}
        groups.setdefault(tuple(values), []).append(values)
    yield from groups.values()


def _carry_on_numbering(reading: Connection, writing: Connection) -> None:
    """Make the target's next ids follow all that either database has given, so that no id is given twice."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None:
            continue
        highest = reading.scalar(select(func.max(column))) or 0
        last = max(highest, *(_last_number(side, table.name, column.name) for side in (reading, writing)))
        if not last:
            continue
        if writing.dialect.name == "postgresql":
            writing.execute(
                text("SELECT setval(pg_get_serial_sequence(:table, :column), :last)"),
                {"table": table.name, "column": column.name, "last": last},
            )
        elif table.dialect_options["sqlite"]["autoincrement"]:
            named = {"table": table.name, "last": last}
            writing.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), named)
            writing.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"), named)


def _last_number(connection: Connection, table: str, column: str) -> int:
    if connection.dialect.name == "sqlite":
        known = text("SELECT seq FROM sqlite_sequence WHERE name = :table")
        return int(connection.scalar(known, {"table": table}) or 0)
    sequence = connection.scalar(
        text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table, "column": column}
    )
    # the name comes from the catalogue, quoted if needed
    return int(connection.scalar(text(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")) or 0)
