"""INSERT with a rule for existing rows, in the dialect of each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, Table

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return the database's own INSERT, which has ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert

        return insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
