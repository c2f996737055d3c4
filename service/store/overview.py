"""The contents of a store, in numbers, for whoever starts a service on it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from service.store.jobs import FAILED
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
    counts = [select(func.count()).select_from(table) for table in (users, documents, voices, keys, jobs)]
    counts[-1] = counts[-1].where(jobs.c.state != FAILED)  # given up: no document waits for it
    return Overview(*(connection.scalar(count) or 0 for count in counts))
