"""``pearl export``"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from pearl.cli.options import USER_OPTION, check_outputs, writing
from pearl.errors import InputError
from pearl.settings import load_settings
from pearl.text.files.whole import opened
from service.commands.common import open_database
from service.histories.export import export_pieces, history_lines
from service.store import users

EXAMPLES = """
  pearl export --user ada --json ada.json              pearl import export ada.json reads it
  pearl export --history ada.jsonl.gz                  pearl import jsonl and pearl train read it
"""


def export(
    user: str | None = USER_OPTION,
    json: str | None = typer.Option(
        None, "--json", metavar="FILE", help="Write everything as one JSON object to FILE, '-' for standard output."
    ),
    history: str | None = typer.Option(
        None,
        "--history",
        metavar="FILE",
        help="Write the documents as a history file, '-' for standard output; compressed if it ends in .gz.",
    ),
) -> None:
    """Write everything PEARL keeps of a user, or their documents as a history file."""
    if json is None and history is None:
        raise InputError("Give --json FILE for everything, or --history FILE for the documents.")
    check_outputs({"--json": json, "--history": history})
    settings = load_settings()
    with open_database(settings) as database, database.read() as connection:
        owner = users.chosen(connection, user)
        if json is not None:
            _write("--json", json, export_pieces(connection, owner, settings.home))
        if history is not None:
            _write("--history", history, (line.encode() for line in history_lines(connection, owner)))


def _write(option: str, target: str, pieces: Iterable[bytes]) -> None:
    """Write to a file that only its owner may read; '-' is standard output. Raises InputError if it cannot be
    written."""
    if target == "-":
        sys.stdout.writelines(piece.decode() for piece in pieces)
        return
    with writing(f"{option} {target}"), opened(Path(target), private=True) as file:
        file.writelines(pieces)
