"""What the commands share: opening the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pearl.settings import Settings
from service.store.database import Database


@contextmanager
def open_database(settings: Settings) -> Iterator[Database]:
    """The store with its schema up to date."""
    database = Database(settings.resolved_database_url, timeout_s=settings.database_timeout_s)
    try:
        database.migrate()
        yield database
    finally:
        database.close()
