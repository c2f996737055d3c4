"""INSERT that says what to do about rows that are there, which each database has in a dialect of its own."""

from __future__ import annotations

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT with ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
