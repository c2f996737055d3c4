"""What the commands share: opening the store, and writing JSON where ``--json`` says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import typer

from pearl.errors import InputError
from pearl.settings import Settings
from service.store.database import Database

LLM_OPTION = typer.Option(None, "--llm", metavar="LLM", help="embedded, openai (an endpoint) or auto, as PEARL_LLM.")
ENCODER_OPTION = typer.Option(None, "--encoder", metavar="MODEL", help="embedded or a model, as PEARL_ENCODER.")
JSON_OPTION = typer.Option(None, "--json", metavar="FILE", help="Write plain JSON to FILE, '-' for standard output.")


@contextmanager
def open_database(settings: Settings) -> Iterator[Database]:
    """The store with its schema up to date."""
    database = Database(settings.resolved_database_url, timeout_s=settings.database_timeout_s)
    try:
        database.migrate()
        yield database
    finally:
        database.close()


def write_json(target: str, value: Any) -> None:
    """One JSON document and a line break. Raises InputError when the file cannot be written."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    if target == "-":
        typer.echo(text)
        return
    try:
        Path(target).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--json {target}: {error.strerror}", code="unwritable_file") from error
