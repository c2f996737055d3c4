"""``pearl move``"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from pearl.cli.options import JSON_OPTION, check_writable, write_json
from pearl.errors import InputError, PearlError
from pearl.settings import load_settings
from pearl.text.usable import counted
from service.commands.common import open_database, shown_copying
from service.store import transfer
from service.store.database import Database

EXAMPLES = """
  pearl move --to postgresql://pearl@db/pearl       with the password in ~/.pgpass or PGPASSWORD
  PEARL_DATABASE_URL=postgresql://pearl@db/pearl pearl move --to sqlite:////home/ada/pearl.db
"""


def move(
    to: str = typer.Option(
        ..., "--to", metavar="URL", help="Empty database to fill: postgresql://... or sqlite:///FILE."
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Copy everything into another database: users, keys, histories, embeddings, drafts, feedback.

    Stop `pearl serve` first: what it writes while this runs is not copied. The old database is not changed. Everything
    is copied and compared in one transaction, or nothing is.
    """
    check_writable("--json", json)
    settings = load_settings()
    with open_database(settings) as source:
        rows = transfer.rows_of(source)
        if not rows:
            raise InputError("The database is empty: there is nothing to copy. Check PEARL_DATABASE_URL or PEARL_HOME.")
        with _target(to) as target, shown_copying(rows) as advance:
            counts = transfer.copy_all(source, target, advance)
    if json:
        write_json(json, {"tables": counts})
    else:
        for table, rows in counts.items():
            typer.echo(f"{rows:>9,}  {table}")
    typer.echo(
        f"Copied {counted(sum(counts.values()), 'row')}, compared on both sides. Set PEARL_DATABASE_URL to use it.",
        err=True,
    )


@contextmanager
def _target(url: str) -> Iterator[Database]:
    """Open the target database and create its schema. Raises InputError if it is not empty, StoreError if it fails."""
    with _naming_the_option():
        database = Database(url)
    try:
        with _naming_the_option():
            transfer.check_usable(database)
            database.migrate()
        yield database
    finally:
        database.close()


@contextmanager
def _naming_the_option() -> Iterator[None]:
    """Make errors name the option ``--to``, not the setting, which names the source database."""
    try:
        yield
    except PearlError as error:
        raise type(error)(error.message.replace("PEARL_DATABASE_URL", "--to"), param="to", code=error.code) from error
