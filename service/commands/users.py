"""``pearl users``"""

from __future__ import annotations

from dataclasses import asdict

import typer

from pearl.cli.commands import epilog, group
from pearl.cli.options import JSON_OPTION, write_json
from pearl.settings import load_settings
from pearl.text.usable import counted
from service.commands.common import erase, open_database
from service.commands.shown import confirm, moment, show_table
from service.store import user_counts, users
from service.store.replies import forget_replies
from service.store.user_counts import UserCounts

app = group("List users, and delete one.")


@app.command("list", epilog=epilog("  pearl users list"))
def list_users(json: str | None = JSON_OPTION) -> None:
    """List the users with the numbers of their documents, voices, drafts and keys."""
    with open_database(load_settings()) as database, database.read() as connection:
        listed = user_counts.list_all(connection)
    if json:
        write_json(json, {"users": [asdict(user) for user in listed]})
    elif not listed:
        typer.echo("No users yet; import a history (pearl import PATH --user me).", err=True)
    else:
        columns = ("name", "documents", "voices", "drafts", "keys", "latest document", "since")
        show_table(columns, (_row(user) for user in listed))


def _row(user: UserCounts) -> tuple[object, ...]:
    latest, since = moment(user.latest), moment(user.since)
    return user.name, user.documents, user.voices, user.drafts, user.keys, latest, since


@app.command(epilog=epilog("  pearl users delete ada"))
def delete(
    name: str = typer.Argument(metavar="NAME", help="The user's name, from `pearl users list`."),
    yes: bool = typer.Option(False, "--yes", help="Delete without asking."),
) -> None:
    """Delete a user and everything of theirs, for good."""
    settings = load_settings()
    with open_database(settings) as database:
        with database.read() as connection:
            user = users.get(connection, name)
            has = user_counts.of_user(connection, user.id)
        everything = ", ".join(
            counted(count, noun)
            for count, noun in ((has.documents, "document"), (has.voices, "voice"), (has.drafts, "draft"))
        )
        confirm(f"Delete {user.name} with {everything} and {counted(has.keys, 'key')}? It cannot be undone.", yes=yes)
        with database.write(deletes=True) as connection:
            users.remove(connection, user.id)
            forget_replies(settings.home, user.id)
        erase(database)
    typer.echo(f"Deleted {user.name}.", err=True)
