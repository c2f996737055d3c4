"""``pearl keys``"""

from __future__ import annotations

from dataclasses import asdict

import typer

from pearl.errors import InputError
from pearl.options import JSON_OPTION, write_json
from pearl.settings import load_settings
from pearl.texts import check_id, format_timestamp
from service.commands.common import open_database
from service.store import keys

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Make, list and revoke API keys."
)

CREATE_EXAMPLES = """Examples:

\b
  pearl keys create --user ada
  pearl keys create --user ada --json -
  pearl keys create --service --grant ada --grant ben
"""


@app.command(epilog=CREATE_EXAMPLES)
def create(
    user: str | None = typer.Option(None, "--user", metavar="U", help="Whose key; a new user is made if needed."),
    service: bool = typer.Option(False, "--service", help="A key of a program that acts for users (X-Pearl-User)."),
    grant: list[str] = typer.Option([], "--grant", metavar="U", help="A user the service key may act for; repeatable."),
    grant_all: bool = typer.Option(False, "--grant-all", help="The service key may act for every user."),
    json: str | None = JSON_OPTION,
) -> None:
    """Make a key. It is shown now and never again: only its digest is kept."""
    if service == (user is not None):
        raise InputError("Give either --user U or --service with --grant U.", param="user")
    if service and not grant and not grant_all:
        raise InputError("A service key needs --grant U (repeatable) or --grant-all.", param="grant")
    if user is not None and (grant or grant_all):
        raise InputError("--grant goes with --service: a user's key acts for that user alone.", param="grant")
    with open_database(load_settings()) as database, database.write() as connection:
        if user is not None:
            key = keys.create_for_user(connection, check_id(user, param="user"))
        else:
            key = keys.create_for_service(connection, tuple(grant), all_users=grant_all)
        # before the transaction ends: a key that could not be written down would be lost
        if json:
            write_json(json, {"key": key})
        else:
            typer.echo(key)


@app.command("list", epilog="Example:\n\n\b\n  pearl keys list\n")
def list_keys(json: str | None = JSON_OPTION) -> None:
    """List the keys: their ids, beginnings and users."""
    with open_database(load_settings()) as database, database.read() as connection:
        found = keys.list_all(connection)
    if json:
        write_json(json, {"keys": [asdict(key) for key in found]})
        return
    for key in found:
        whose = key.user or f"service for {', '.join(key.may_act_as) or 'nobody'}"
        typer.echo(f"{key.id}  {key.shown}...  {format_timestamp(int(key.created_at))}  {whose}")


@app.command(epilog="Example:\n\n\b\n  pearl keys revoke key_0192f0c4b1aa7d0e5c2f9b1c\n")
def revoke(id: str = typer.Argument(metavar="ID", help="The key's id, from `pearl keys list`.")) -> None:
    """Revoke a key: from now on it opens nothing."""
    with open_database(load_settings()) as database, database.write() as connection:
        keys.revoke(connection, id)
    typer.echo(f"Revoked {id}.", err=True)
