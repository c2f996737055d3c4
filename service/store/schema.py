"""The database's schema: its revision, the oldest and newest known revisions, and the upgrade to the newest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from pearl.errors import StoreError
from service.store.tables import metadata

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
TABLE = "alembic_version"


def known() -> tuple[str, str]:
    """Return the oldest and the newest revision that this code knows, by the numbers in the names of migrations."""
    numbers = sorted(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))
    return numbers[0], numbers[-1]


def current(connection: Connection) -> str | None:
    """The database's revision; None before the first migration."""
    if not inspect(connection).has_table(TABLE):
        return None
    revision = connection.scalar(text(f"SELECT version_num FROM {TABLE}"))
    return None if revision is None else str(revision)


def trouble(revision: str | None) -> StoreError | None:
    """Return the error for a database of this revision; None if the revision is the newest. A database whose error has
    the code ``schema_missing`` can be upgraded."""
    oldest, newest = known()
    if revision == newest:
        return None
    if revision is not None and revision < oldest:
        return StoreError(
            f"The database's schema is of an early version of PEARL ({revision}; this one reads {oldest} "
            "and later). Run `pearl migrate` of the version with the git tag lab-2026-11 on it, then this version.",
            code="schema_older",
        )
    if revision is not None and revision > newest:
        return StoreError(
            f"The database's schema is of a later version of PEARL ({revision}; this one knows {newest}); install "
            "that version, or restore the backup made before it.",
            code="schema_newer",
        )
    return StoreError(
        f"The schema is at {revision}, not {newest}; start 'pearl serve' again, which brings it up to date.",
        code="schema_missing",
    )


def trouble_at_work(revision: str | None) -> StoreError | None:
    """Return the error for a process that already works on a database of this revision; None if it can go on. It can if
    a later version only added to the schema: a migration that removes something begins a new hundred of numbers."""
    newest = known()[1]
    if revision is not None and revision > newest and revision[:-2] == newest[:-2]:
        return None
    return trouble(revision)


def upgrade(connection: Connection) -> None:
    """Upgrade the schema within the connection's transaction: create the tables in an empty database, run the missing
    migrations in any other."""
    from alembic import command

    config = configuration()
    config.attributes["connection"] = connection
    if current(connection) is not None:
        command.upgrade(config, "head")
        return
    metadata.create_all(connection, checkfirst=False)
    command.stamp(config, "head")


def configuration() -> Config:
    """Make the configuration by which alembic finds the migrations. Alembic is imported only here: it is rarely
    needed."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
