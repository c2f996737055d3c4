"""``pearl keys``"""

from __future__ import annotations

import re
import time
from dataclasses import asdict

import typer

from pearl.cli.commands import epilog, group
from pearl.cli.options import JSON_OPTION, check_writable, write_json
from pearl.errors import InputError
from pearl.settings import load_settings
from pearl.text.usable import check_id
from service.commands.common import open_database
from service.commands.shown import moment, show_table
from service.store import keys
from service.store.keys import KeySummary, KeyTerms

app = group("Make, list and revoke API keys.")

CREATE_EXAMPLES = """
  pearl keys create --user ada
  pearl keys create --user ada --json -
  pearl keys create --user ada --name laptop --expires 90d
  pearl keys create --user ada --tokens-per-day 200000
  pearl keys create --service --grant ada --grant ben
  pearl keys create --service                            # for /metrics alone
"""
LIFETIME = re.compile(r"([1-9][0-9]{0,4})([hdwy])")
LONGEST_YEARS = 100
MOST_TOKENS = 10**12
UNIT_S = {"h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}


@app.command(epilog=epilog(CREATE_EXAMPLES))
def create(
    user: str | None = typer.Option(None, "--user", metavar="U", help="User of the key; a new one is made if needed."),
    service: bool = typer.Option(
        False, "--service", help="Make a key for a program that acts for users (X-Pearl-User)."
    ),
    grant: list[str] = typer.Option([], "--grant", metavar="U", help="User the service key may act for; repeatable."),
    grant_all: bool = typer.Option(False, "--grant-all", help="Let the service key act for every user."),
    name: str | None = typer.Option(None, "--name", metavar="N", help="Name for the key, e.g. where it is used."),
    expires: str | None = typer.Option(
        None, "--expires", metavar="TIME", help="Lifetime: 12h, 90d, 4w or 1y; without it the key does not expire."
    ),
    tokens_per_day: int | None = typer.Option(
        None, min=1, max=MOST_TOKENS, metavar="N", help="Tokens that the key's drafts may take in a day (UTC)."
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Make a key. It is shown now and never again: only its digest is kept."""
    if service == (user is not None):
        raise InputError("Give either --user U or --service.")
    if user is not None and (grant or grant_all):
        raise InputError("--grant goes with --service: a user's key acts for that user alone.")
    terms = KeyTerms(None if name is None else check_id(name, param="name"), _expiry(expires), tokens_per_day)
    check_writable("--json", json)
    with open_database(load_settings()) as database:
        with database.write() as connection:
            if user is not None:
                key = keys.create_for_user(connection, check_id(user, param="user"), terms=terms)
            else:
                key = keys.create_for_service(connection, tuple(grant), all_users=grant_all, terms=terms)
        try:
            if json:
                write_json(json, {"key": key}, private=True)
            else:
                typer.echo(key)
        except BaseException:  # a key that was not shown must not stay
            with database.write() as connection:
                keys.withdraw(connection, key)
            raise


def _expiry(lifetime: str | None) -> float | None:
    """Return when a lifetime such as 90d ends that begins now, in Unix seconds. Raises InputError if it is
    malformed."""
    if lifetime is None:
        return None
    parts = LIFETIME.fullmatch(lifetime)
    if parts is None:
        raise InputError(f"--expires {lifetime}: give a number of hours, days, weeks or years: 12h, 90d, 4w, 1y.")
    seconds = int(parts[1]) * UNIT_S[parts[2]]
    if seconds > LONGEST_YEARS * UNIT_S["y"]:
        raise InputError(
            f"--expires {lifetime}: give at most {LONGEST_YEARS}y, or leave it out: then the key does not expire."
        )
    return time.time() + seconds


@app.command("list", epilog=epilog("  pearl keys list"))
def list_keys(json: str | None = JSON_OPTION) -> None:
    """List the keys with their ids, names, users, last use and expiry."""
    with open_database(load_settings()) as database, database.read() as connection:
        listed = keys.list_all(connection)
    if json:
        write_json(json, {"keys": [asdict(key) for key in listed]})
    elif not listed:
        typer.echo("No keys; make one with 'pearl keys create --user NAME'.", err=True)
    else:
        heads = ("id", "name", "key", "created", "last used", "expires", "tokens today", "of")
        show_table(heads, (_row(key) for key in listed))


def _row(key: KeySummary) -> tuple[str, ...]:
    expires = "never" if key.expires_at is None else moment(key.expires_at)
    if key.expires_at is not None and key.expires_at <= time.time():
        expires = f"expired {expires}"
    whose = key.user or f"service for {', '.join(key.may_act_as) or 'nobody'}"
    tokens = "-" if key.tokens_per_day is None else f"{key.tokens_today:,} of {key.tokens_per_day:,}"
    head = key.id, key.name or "-", f"{key.shown}...", moment(key.created_at), moment(key.last_used_at)
    return *head, expires, tokens, whose


@app.command(epilog=epilog("  pearl keys revoke key_0192f0c4b1aa7d0e5c2f9b1c"))
def revoke(id: str = typer.Argument(metavar="ID", help="The key's id, from `pearl keys list`.")) -> None:
    """Revoke a key; it stops working at once."""
    with open_database(load_settings()) as database, database.write() as connection:
        keys.revoke(connection, id)
    typer.echo(f"Revoked {id}.", err=True)
