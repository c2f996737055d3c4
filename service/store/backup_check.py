"""Checks of the database in a backup, before anything is done with it: whoever can write a file can write one whose
digest is right. Views, triggers and expressions would be carried out when it is read."""

from __future__ import annotations

import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, Integer, LargeBinary, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex

from pearl.errors import InputError, StoreError
from service.store import schema
from service.store.database import Database
from service.store.tables import metadata

OTHERS = {schema.TABLE, "sqlite_sequence"}
COMPUTES = re.compile(r"\b(?:CHECK|GENERATED|VIRTUAL|COLLATE)\b", re.IGNORECASE)
UNREADABLE = (StoreError, ValueError, TypeError, OverflowError, RecursionError)


def check_schema(copy: Path, revision: str) -> None:
    """Raise InputError if the file is no whole SQLite database of the revision, or holds more than our tables."""
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
    """Raise InputError if a value does not fit its column, or a table has not as many rows as is said."""
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
    return InputError(f"is damaged: {why}. Take another backup.", code="backup_damaged")
