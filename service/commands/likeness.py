"""``pearl likeness``"""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, USER_OPTION, check_writable, write_json
from pearl.settings import load_settings
from pearl.text.usable import check_text

EXAMPLES = """
  pearl likeness reply.txt
  pearl likeness - --user ada --voice email < reply.txt
  pearl draft "Tomas asks for my Saturday" | pearl likeness - --json -
"""


def likeness(
    file: str = typer.Argument(metavar="FILE", help="Text to hold against the history; '-' reads standard input."),
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="One of the user's voices."),
    json: str | None = JSON_OPTION,
) -> None:
    """Say how likely it is that a user wrote a text.

    There is no answer for texts of less than 30 words or in another language, nor for histories of fewer than 5 texts
    or 300 words.
    """
    # imported here: they load the store, which help does not need
    from service.commands.common import open_database, read_text
    from service.histories.likeness import LikenessCache
    from service.http.api.likeness import LikenessOut
    from service.store import users, voices

    check_writable("--json", json, [Path(file)])
    text = check_text(read_text("FILE", file))
    settings = load_settings()
    with open_database(settings) as database:
        with database.read() as connection:
            owner = users.chosen(connection, user)
            voice = voices.chosen_there(connection, owner.id, voice)
        model = LikenessCache(database).get(owner.id, voice)
    answer = LikenessOut.made(model.score(text), model, voice)
    if json:
        write_json(json, answer.model_dump())
        return
    chance = answer.probability or 0.0
    shown = "over 99%" if chance > 0.99 else "under 1%" if chance < 0.01 else f"{chance:.0%}"  # nothing here is sure
    typer.echo(answer.unsaid or f"{shown} ({answer.verdict}), {answer.words} words")
    if answer.unsaid is None and answer.history.left_out:
        typer.echo(f"Left out of the history: {answer.left_out}.", err=True)
    if answer.note:
        typer.echo(answer.note, err=True)
