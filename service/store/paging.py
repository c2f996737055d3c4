"""Read a user's rows page by page, in order of time, and search them for words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Row, Select, tuple_

from pearl.errors import InputError
from pearl.text.words import folded

AT_ONCE = 10  # rows in memory, each of which may have a megabyte
PAGE = 4_000_000  # characters of a page; the row that reaches them is its last


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The page to read: its size, start, order, and the words to search for."""

    limit: int  # rows at most
    after: str | None = None  # id of the row before the page
    newest_first: bool = False
    words: str | None = None  # that every row contains


def page_of(
    connection: Connection,
    query: Select[Any],
    wanted: PageQuery,
    *,
    noun: str,
    id: Column[Any],
    order: Sequence[Column[Any]],
    searched: Sequence[str],
) -> tuple[list[Row[Any]], bool]:
    """Return the rows of a page, and whether more rows follow; long rows make a page shorter than its limit. ``order``:
    columns that order the rows uniquely; ``searched``: names of the columns in which words are searched.

    Raises InputError if no row of the query has the id ``after``.
    """
    whole = query
    if wanted.after is not None:
        last = connection.execute(query.with_only_columns(*order).where(id == wanted.after)).first()
        if last is None:
            raise InputError(
                f"'after' must be the id of a {noun} of yours; '{wanted.after}' is not there (any more).",
                param="after",
                code="invalid_cursor",
            )
        position = tuple_(*order)
        whole = whole.where(position < tuple(last) if wanted.newest_first else position > tuple(last))
    whole = whole.order_by(*(column.desc() if wanted.newest_first else column for column in order))
    if wanted.words is None:
        whole = whole.limit(wanted.limit + 1)
    page: list[Row[Any]] = []
    characters = 0
    with connection.execute(whole.execution_options(yield_per=AT_ONCE)) as rows:
        for row in rows if wanted.words is None else _containing(rows, wanted.words, searched):
            if len(page) == wanted.limit or characters >= PAGE:
                return page, True
            page.append(row)
            characters += sum(len(value) for value in row if isinstance(value, str))
    return page, False


def _containing(rows: Iterable[Row[Any]], words: str, columns: Sequence[str]) -> Iterator[Row[Any]]:
    """Yield the rows that have each of the words in one of the columns, ignoring case and the kind of apostrophe.
    SQLite itself would ignore only the case of ASCII letters."""
    parts = folded(words.replace("’", "'")).split()
    for row in rows:
        text = folded("\n".join(getattr(row, column) for column in columns).replace("’", "'"))
        if all(word in text for word in parts):
            yield row
