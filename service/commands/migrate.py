"""``pearl migrate``"""

from __future__ import annotations

import typer

from pearl.settings import load_settings
from service.commands.common import open_database

EXAMPLES = """
  pearl migrate
  PEARL_DATABASE_URL=postgresql+psycopg://pearl@db/pearl pearl migrate
"""


def migrate() -> None:
    """Bring the database's schema up to date. `pearl serve` does it too; safe to run from several places at once."""
    with open_database(load_settings()) as database:
        current, _ = database.schema_version()
        typer.echo(f"The database is at revision {current}.", err=True)
