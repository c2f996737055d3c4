"""``pearl feedback``"""

from __future__ import annotations

from pathlib import Path

import typer
from sqlalchemy import Connection

from pearl.cli.options import JSON_OPTION, USER_OPTION, check_writable, write_json
from pearl.errors import InputError
from pearl.settings import load_settings
from pearl.text.usable import check_id
from service.commands.common import open_database, read_text
from service.commands.shown import not_a_sample
from service.store import documents, drafts, users
from service.store import feedback as store

EXAMPLES = """
  pearl feedback draft_0192f0c4b1aa7d0e5c2f9b1c --accepted
  pearl feedback draft_0192f0c4b1aa7d0e5c2f9b1c --edited sent.txt
  pbpaste | pearl feedback draft_0192f0c4b1aa7d0e5c2f9b1c --edited -
  pearl feedback draft_0192f0c4b1aa7d0e5c2f9b1c --accepted --variant 2
  pearl feedback draft_0192f0c4b1aa7d0e5c2f9b1c --rejected
  pearl feedback draft_0192f0c4b1aa7d0e5c2f9b1c --mine
"""


def feedback(
    id: str = typer.Argument(metavar="ID", help="The draft's id, which `pearl draft` shows."),
    accepted: bool = typer.Option(False, "--accepted", help="Say that the draft was sent as it was."),
    edited: str | None = typer.Option(
        None, "--edited", metavar="FILE", help="Say that the text in FILE was sent instead; '-' for standard input."
    ),
    rejected: bool = typer.Option(False, "--rejected", help="Say that nothing of it was sent."),
    mine: bool | None = typer.Option(
        None, "--mine/--not-mine", help="Say that the sent text is yours, though it was set apart; or not."
    ),
    variant: int | None = typer.Option(
        None, "--variant", min=1, max=3, metavar="N", help="Number of the variant that was taken; 1 is the first."
    ),
    user: str | None = USER_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Say what became of a draft: the text that was sent becomes part of the history, and drafts learn from it if you
    changed it and half of it is yours."""
    chosen_outcomes = {store.ACCEPTED: accepted, store.EDITED: edited is not None, store.REJECTED: rejected}
    outcomes = [outcome for outcome, chosen in chosen_outcomes.items() if chosen]
    if len(outcomes) + (mine is not None) != 1:
        raise InputError("Give one of --accepted, --edited FILE, --rejected, --mine and --not-mine.")
    check_writable("--json", json, [Path(edited)] if edited else ())
    check_id(id, param="id")
    sent = None if edited is None else read_text("--edited", edited)
    with open_database(load_settings()) as database, database.write() as connection:
        owner = drafts.owner(connection, id) if user is None else users.get(connection, user).id
        if mine is not None:
            documents.claim(connection, owner, id, mine=mine)
            recorded = _sent(connection, owner, id)
        else:
            recorded = store.add(connection, owner, id, outcomes[0], sent, None if variant is None else variant - 1)
    if json:
        from service.http.api.feedback import feedback_body

        write_json(json, feedback_body(recorded))
    elif recorded.document_id is None:
        typer.echo(f"Recorded: {recorded.outcome}.", err=True)
    else:
        typer.echo(f"Recorded: {recorded.outcome}. The text is in the history as {recorded.document_id}.", err=True)
        if recorded.mark.reason is not None:
            typer.echo(not_a_sample(recorded.mark, recorded.document_id), err=True)


def _sent(connection: Connection, owner: int, id: str) -> store.Feedback:
    sent = store.sent_drafts(connection, owner, [id])
    if id not in sent:
        raise InputError(f"'{id}' was not sent from a draft; say it with: pearl documents keep {id}")
    return sent[id]
