"""``pearl restore``"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, check_writable, known, write_json, writing
from pearl.errors import InputError
from pearl.settings import Settings, load_settings
from pearl.text.files.whole import private_folder
from pearl.text.usable import counted, format_timestamp
from service.commands.common import erase, open_database, shown_copying
from service.process.temporary import clear_abandoned, temporary_folder
from service.store import backups, transfer
from service.store.backups import BackupMark, Deleted
from service.store.database import Database
from service.store.replies import forget_replies

EXAMPLES = """
  pearl restore /backup/pearl.backup --check
  pearl restore /backup/pearl.backup
  pearl restore /backup/pearl.backup --replace --deleted leave-out
  PEARL_DATABASE_URL=postgresql://pearl@db/pearl pearl restore /backup/pearl.backup
"""
LEAVE_OUT, BRING_BACK = "leave-out", "bring-back"


def restore(
    file: Path = typer.Argument(metavar="FILE", help="Backup that `pearl backup` wrote."),
    check: bool = typer.Option(False, "--check", help="Read the backup whole and say what it holds; restore nothing."),
    replace: bool = typer.Option(False, "--replace", help="Replace everything in a database that is not empty."),
    deleted: str | None = typer.Option(
        None,
        "--deleted",
        metavar="WHAT",
        help=f"Users, documents and keys deleted since the backup: {LEAVE_OUT} or {BRING_BACK}; goes with --replace.",
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Restore a backup, completely or not at all, into the database of the settings, which must be empty.

    Stop `pearl serve` first: nothing is restored under a server. The backup may be of SQLite or PostgreSQL, and of an
    earlier version of PEARL.
    """
    check_writable("--json", json, [file])
    if deleted is not None:
        known("deleted", deleted, (LEAVE_OUT, BRING_BACK))
        if not replace:
            raise InputError("--deleted goes with --replace: an empty database tells nothing.")
    if check:
        with temporary_folder() as folder:
            mark, source = backups.open_copy(file, folder / "copy.db")
            source.close()
        _say(json, mark, mark.rows, Deleted(), f"{file} is whole")
        return
    settings = load_settings()
    _check_target(settings.resolved_database_url, replace=replace)
    with writing(str(settings.home)):
        private_folder(settings.home)
        clear_abandoned(settings.home)
    with temporary_folder(settings.home) as folder:
        mark, source = backups.open_copy(file, folder / "copy.db")
        with closing(source):
            rows, left_out, kept = _restore(settings, source, deleted, replace=replace)
    _say(json, mark, rows, left_out, "Restored")
    if kept:
        typer.echo(f"Still local only, as since the backup: {counted(kept, 'voice')}.", err=True)
    if deleted != LEAVE_OUT:
        typer.echo("What was deleted after that is back, and keys revoked after that are valid again.", err=True)


def _restore(
    settings: Settings, source: Database, deleted: str | None, *, replace: bool
) -> tuple[dict[str, int], Deleted, int]:
    found, kept = Deleted(), 0
    with open_database(settings) as target, target.alone():
        if replace:
            found = _decided(backups.deleted_since(source, target), deleted)
            backups.leave_out(source, found)
            kept = backups.keep_local(source, target)
        forget_replies(settings.home)
        with shown_copying(transfer.rows_of(source)) as advance:
            rows = transfer.copy_all(source, target, advance, replaces=replace)
        if replace:
            erase(target)
    return rows, found, kept


def _check_target(url: str, *, replace: bool) -> None:
    """Check the database before its schema is changed. Raises InputError if it must not be overwritten."""
    with closing(Database(url)) as database:
        try:
            transfer.check_usable(database, to_replace=replace)
        except InputError as error:
            if error.code != "not_empty":
                raise
            raise InputError(
                f"{error.message.partition('. ')[0]}. Name an empty one (PEARL_HOME, PEARL_DATABASE_URL), or replace "
                "all of it: --replace."
            ) from None


def _decided(found: Deleted, deleted: str | None) -> Deleted:
    """Return the deleted items that stay deleted. Raises InputError if the person must decide first."""
    if deleted == BRING_BACK:
        return Deleted()
    if deleted is None and any(found.counts().values()):
        raise InputError(
            f"The backup holds {_listed(found)} that the database no longer has. Say whether they stay deleted: "
            f"--deleted {LEAVE_OUT}, or --deleted {BRING_BACK}."
        )
    return found


def _listed(found: Deleted) -> str:
    return ", ".join(counted(number, name.removesuffix("s")) for name, number in found.counts().items())


def _say(json: str | None, mark: BackupMark, rows: dict[str, int], left_out: Deleted, done: str) -> None:
    if json:
        write_json(json, {"backup": asdict(mark), "rows": rows, "left_out": left_out.counts()})
    typer.echo(
        f"{done}: {counted(sum(rows.values()), 'row')} as of {format_timestamp(round(mark.created_at))} "
        f"(PEARL {mark.pearl}, schema {mark.schema}).",
        err=True,
    )
    if any(left_out.counts().values()):
        typer.echo(f"Left out, because it was deleted since then: {_listed(left_out)}.", err=True)
