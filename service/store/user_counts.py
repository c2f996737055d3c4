"""Count everything in the store, and what each user has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, Select, Table, func, select

from service.store.jobs import FAILED
from service.store.tables import documents, drafts, jobs, keys, users, voices


@dataclass(frozen=True, slots=True)
class Overview:
    """The counts of everything in the store."""

    users: int
    documents: int
    voices: int
    keys: int
    embedding: int  # users whose documents wait to be embedded


def overview(connection: Connection) -> Overview:
    counts = [select(func.count()).select_from(table) for table in (users, documents, voices, keys, jobs)]
    counts[-1] = counts[-1].where(jobs.c.state != FAILED)  # given up: no document waits for it
    return Overview(*(connection.scalar(count) or 0 for count in counts))


@dataclass(frozen=True, slots=True)
class UserCounts:
    """A user, and the counts of their documents, voices, drafts and keys."""

    name: str
    documents: int
    voices: int
    drafts: int
    keys: int
    latest: float | None  # time of the newest document
    since: float  # when the user was made


def list_all(connection: Connection) -> list[UserCounts]:
    """The counts of every user, by name."""
    return [UserCounts(*row) for row in connection.execute(_counted().order_by(users.c.name))]


def of_user(connection: Connection, user_id: int) -> UserCounts:
    """The counts of a user that must exist."""
    return UserCounts(*connection.execute(_counted().where(users.c.id == user_id)).one())


def count_documents(connection: Connection, user_id: int, *chosen: ColumnElement[bool]) -> int:
    """The number of the user's documents that match all of ``chosen``."""
    counted = select(func.count()).select_from(documents).where(documents.c.user_id == user_id, *chosen)
    return connection.scalar(counted) or 0


def _counted() -> Select[Any]:
    latest = select(func.max(documents.c.timestamp)).where(documents.c.user_id == users.c.id).scalar_subquery()
    counts = map(_count, (documents, voices, drafts, keys))
    return select(users.c.name, *counts, latest, users.c.created_at)


def _count(table: Table) -> ScalarSelect[int]:
    return select(func.count()).select_from(table).where(table.c.user_id == users.c.id).scalar_subquery()
