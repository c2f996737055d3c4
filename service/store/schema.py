"""The schema's revision: which one a database has, the newest there is, and the way from one to the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
TABLE = "alembic_version"


def newest() -> str:
    """The newest revision this code knows: migrations are files whose names begin with their numbers."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))


def current(connection: Connection) -> str | None:
    """The database's revision; None before the first migration."""
    if not inspect(connection).has_table(TABLE):
        return None
    revision = connection.scalar(text(f"SELECT version_num FROM {TABLE}"))
    return None if revision is None else str(revision)


def upgrade(connection: Connection) -> None:
    """Bring the schema up to date, within the connection's transaction."""
    from alembic import command

    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def configuration() -> Config:
    """The configuration by which alembic finds the migrations. It is loaded only here: there is rarely work to do."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
