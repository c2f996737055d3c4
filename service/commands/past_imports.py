"""``pearl imports``"""

from __future__ import annotations

from dataclasses import asdict

import typer

from pearl.cli.commands import epilog, group
from pearl.cli.options import JSON_OPTION, USER_OPTION, check_writable, write_json
from pearl.settings import load_settings
from pearl.text.usable import counted
from service.commands.common import erase, open_database
from service.commands.shown import confirm, moment, show_table
from service.store import imports, users
from service.store.imports import PastImport

app = group("List past imports, and undo one. 'pearl import' makes a new one.")


@app.command("list", epilog=epilog("  pearl imports list --user ada"))
def list_imports(user: str | None = USER_OPTION, json: str | None = JSON_OPTION) -> None:
    """List the imports that brought a user something, the newest first."""
    with open_database(load_settings()) as database, database.read() as connection:
        past = imports.list_all(connection, users.chosen(connection, user).id)
    if json:
        write_json(json, {"imports": [asdict(past_import) for past_import in past]})
    elif not past:
        typer.echo("No imports.", err=True)
    else:
        show_table(
            ("id", "when", "kind", "source", "brought", "still there"), (_row(past_import) for past_import in past)
        )


def _row(past: PastImport) -> tuple[object, ...]:
    still = f"{past.documents:,}" if past.undone_at is None else f"{past.documents:,} (undone {moment(past.undone_at)})"
    return past.id, moment(past.created_at), past.importer, past.source, past.brought, still


@app.command(epilog=epilog("  pearl imports undo import_0192f0c4b1aa7d0e5c2f9b1c"))
def undo(
    id: str = typer.Argument(metavar="ID", help="The import's id, from `pearl imports list`."),
    user: str | None = USER_OPTION,
    yes: bool = typer.Option(False, "--yes", help="Remove without asking."),
    json: str | None = JSON_OPTION,
) -> None:
    """Remove what an import brought. Documents that were changed by hand since stay."""
    check_writable("--json", json)
    with open_database(load_settings()) as database:
        with database.read() as connection:
            owner = imports.owner(connection, id) if user is None else users.get(connection, user).id
            count = imports.count_unchanged(connection, owner, id)
        if count:  # otherwise undo() says what is wrong
            confirm(f"Remove what the import '{id}' brought ({counted(count, 'document')})?", yes=yes)
        with database.write(deletes=True) as connection:
            undone = imports.undo(connection, owner, id)
        erase(database)
    if json:
        write_json(json, asdict(undone))
        return
    typer.echo(f"Removed {counted(undone.removed, 'document')}.", err=True)
    if undone.kept:
        typer.echo(f"{counted(undone.kept, 'document')} changed by hand since stay.", err=True)
    if undone.replaced:
        typer.echo(
            f"{undone.replaced:,} of them had replaced an earlier version, which is not kept; import its source again.",
            err=True,
        )
