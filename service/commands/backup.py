"""``pearl backup``"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, check_writable, write_json, writing
from pearl.errors import InputError
from pearl.settings import load_settings
from pearl.text.usable import counted
from service.commands.common import shown_copying
from service.process.temporary import clear_abandoned, temporary_folder
from service.store import backups, schema, transfer
from service.store.database import Database

EXAMPLES = """
  pearl backup /backup/pearl.backup
  pearl backup /backup/pearl.backup --keep 7
"""
NAME = "pearl.backup"


def backup(
    file: Path = typer.Argument(metavar="FILE", help=f"File to write, or a folder in which it is called {NAME}."),
    keep: int = typer.Option(
        1, "--keep", metavar="N", min=1, max=1000, help="Backups that stay; older ones are called FILE.1, FILE.2, ..."
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Write a backup of the database into a file, while the service runs: users, keys, histories, drafts.

    The state of one moment is copied, read back and compared before the file gets its name. Only you may read it.
    `pearl restore` reads it into SQLite and PostgreSQL alike.
    """
    path = file / NAME if file.is_dir() else file
    check_writable("FILE", path)
    check_writable("--json", json, [path])
    with closing(Database(load_settings().resolved_database_url)) as database:
        revision = database.schema_version()[0]
        if revision is None or not (rows := _rows(database, revision)):
            raise InputError("The database is empty: nothing to back up. Check PEARL_DATABASE_URL or PEARL_HOME.")
        clear_abandoned(path.parent)
        with writing(str(path)), temporary_folder(path.parent) as folder, shown_copying(rows) as advance:
            mark = backups.write(database, path, folder, keep=keep, advance=advance)
    size = path.stat().st_size
    if json:
        write_json(json, {"file": str(path), "bytes": size, **asdict(mark)})
    typer.echo(f"{path}: {counted(sum(mark.rows.values()), 'row')}, {size:,} bytes, read back and compared.", err=True)


def _rows(database: Database, revision: str) -> int:
    if (error := schema.trouble(revision)) is not None:  # to upgrade it is what the backup is made before
        if error.code == "schema_missing":
            error.message += " Before that, back up with the version of PEARL that used it last."
        raise error
    return transfer.rows_of(database)
