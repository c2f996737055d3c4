"""What the commands share: opening the store, and erasing what was deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

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


def erase(database: Database) -> None:
    """Overwrite what was deleted in the database's files, or say that it is still there."""
    if not database.forget_deleted():
        typer.echo(
            "Another program is reading the database's files; `pearl serve` overwrites what was deleted after that.",
            err=True,
        )
