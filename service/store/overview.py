"""The contents of a store, in numbers, for whoever starts a service on it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from service.store.tables import documents, jobs, keys, users, voices


@dataclass(frozen=True, slots=True)
class Overview:
    """``embedding``: users whose documents wait to be embedded."""

    users: int
    documents: int
    voices: int
    keys: int
    embedding: int


def overview(connection: Connection) -> Overview:
    tables = (users, documents, voices, keys, jobs)
    return Overview(*(connection.scalar(select(func.count()).select_from(table)) or 0 for table in tables))
