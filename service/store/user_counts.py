"""The users with the numbers of what they have."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, ScalarSelect, Table, func, select

from service.store.tables import documents, drafts, keys, users, voices


@dataclass(frozen=True, slots=True)
class UserCounts:
    """A user; ``latest`` is the time of their newest document, ``since`` when they were made."""

    name: str
    documents: int
    voices: int
    drafts: int
    keys: int
    latest: float | None
    since: float


def list_all(connection: Connection) -> list[UserCounts]:
    """Every user, by name."""
    latest = select(func.max(documents.c.timestamp)).where(documents.c.user_id == users.c.id).scalar_subquery()
    rows = connection.execute(
        select(
            users.c.name,
            _count(documents),
            _count(voices),
            _count(drafts),
            _count(keys),
            latest,
            users.c.created_at,
        ).order_by(users.c.name)
    )
    return [UserCounts(*row) for row in rows]


def _count(table: Table) -> ScalarSelect[int]:
    return select(func.count()).select_from(table).where(table.c.user_id == users.c.id).scalar_subquery()
