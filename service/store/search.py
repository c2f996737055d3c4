"""Rows whose texts contain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, Select

AT_ONCE = 100  # rows in memory, each of which may have a megabyte


def containing(connection: Connection, query: Select[Any], words: str, columns: tuple[str, ...]) -> Iterator[Row[Any]]:
    """The rows that have every word in one of the columns, compared here: SQLite folds the case of ASCII alone."""
    wanted = words.casefold().split()
    with connection.execute(query.execution_options(yield_per=AT_ONCE)) as rows:
        for row in rows:
            text = "\n".join(getattr(row, column) for column in columns).casefold()
            if all(word in text for word in wanted):
                yield row
