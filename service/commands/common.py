"""Functions that several commands share: opening the store, reading a text, and erasing what was deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import typer

from pearl.errors import InputError, StoreError, TooLarge
from pearl.settings import Settings
from pearl.text.usable import MAX_TEXT_BYTES
from service.store.database import Database
from service.store.replies import empty_replies


@contextmanager
def open_database(settings: Settings) -> Iterator[Database]:
    """Open the store and bring its schema up to date."""
    database = Database(settings.resolved_database_url, forget=partial(empty_replies, settings.home))
    try:
        database.migrate()
        yield database
    finally:
        database.close()


def read_text(called: str, source: str) -> str:
    """Read a text from a file, or from standard input if the source is '-'; line breaks at its end are removed.
    ``called``: names the source in errors. Raises InputError if the source cannot be read or is no text."""
    try:
        with open(0, "rb", closefd=False) if source == "-" else Path(source).open("rb") as file:
            content = file.read(MAX_TEXT_BYTES + 1)  # more is an error anyway
        return content.decode("utf-8-sig").rstrip("\r\n")
    except OSError as error:
        raise InputError(f"{called} {source}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        if len(content) > MAX_TEXT_BYTES:  # cut within a character
            raise TooLarge(f"{called} {source}: the text is over {MAX_TEXT_BYTES:,} bytes.") from error
        raise InputError(f"{called} {source}: not UTF-8 text; convert it first.") from error


def erase(database: Database) -> None:
    """Overwrite deleted data in the database's files. If that fails, say why the data is still there."""
    try:
        if database.forget_deleted():
            return
        reason = "Another program is reading the database's files."
    except StoreError as error:  # it is deleted, but its traces are not overwritten
        reason = error.message
    typer.echo(f"Deleted, but not overwritten in the database's files yet; `pearl serve` does that. {reason}", err=True)


@contextmanager
def shown_copying(rows: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if standard error is a terminal; yield a function that takes the number of new rows."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("copying"), BarColumn(), MofNCompleteColumn(), TextColumn("rows"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("copying", total=rows)
        yield lambda amount: progress.advance(task, amount)
