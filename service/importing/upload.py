"""Importing archives that are uploaded over HTTP into one user's history."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio

from pearl.errors import Conflict, InputError, Interrupted, Overloaded, PearlError, TooLarge
from pearl.text.usable import printable
from service.importing.guessing import Guess, guess_importer
from service.importing.restore import EXPORT, ExportReader, import_export
from service.importing.run import ImportSummary, run_import
from service.importing.sources.base import (
    Importer,
    Items,
    LeftOut,
    Options,
    SourceDocument,
    importer_names,
    load_importer,
)
from service.store.database import Database
from service.store.drafts import StoredDraft
from service.store.users import User

MOST_OF_EXPORT = 300_000_000  # bytes of an export, whose drafts are in memory at once
AT_ONCE = 4  # archives in the temporary folder
NEEDS_A_FOLDER = {"git"}
ANOTHERS = "another user's"
IN_A_TERMINAL = (  # advice that names a command, and what is said over HTTP
    (re.compile(r",? (?:for example )?with '[^']*',?"), ""),
    (re.compile(r"name its kind \('pearl import.*?\)"), "say what kind it is"),
    (re.compile(r"then 'pearl import jsonl FILE'"), "and bring that"),
)


class Uploads:
    """The users whose uploaded archives are being imported. A user may import one at a time; ``most`` run at once,
    because they fill the disk."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self._users, self._most = set[int](), most
        self.threads = anyio.CapacityLimiter(most)  # none of those in which everybody's calls run

    @contextmanager
    def turn(self, user_id: int) -> Iterator[None]:
        """Reserve an import for a user while the block runs. Raises Conflict if that user has one running, Overloaded
        if too many run."""
        if user_id in self._users:
            raise Conflict("An archive of yours is being imported; wait for its end.", code="import_running")
        if len(self._users) >= self._most:
            raise Overloaded("Too many archives at once; try again a little later.", retry_after=10)
        self._users.add(user_id)
        try:
            yield
        finally:
            self._users.discard(user_id)


class OneUsers:
    """Wraps an importer so that all documents go to one user, the ``owner``, and progress can be asked for while it
    runs.

    A history file may name many users. Lines of the first user in it are imported for the owner; other lines are left
    out.
    """

    def __init__(self, importer: Importer, owner: User) -> None:
        self._importer, self.owner = importer, owner
        self.documents = self.done = 0
        self.size: int | None = None
        self.stop = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._importer, name)

    def read(self, source: Path, options: Options) -> Items:
        self.size = self._importer.size(source)
        named: str | None = None
        for item in self._importer.read(source, options):
            self.check()
            if isinstance(item, SourceDocument):
                named = named or item.user
                if item.user != named:
                    item = LeftOut(item.where, ANOTHERS)
                else:
                    self.documents += 1
                    item = replace(item, user=self.owner.name)
            yield item

    def check(self) -> None:
        """Raise Interrupted if the client has disconnected."""
        if self.stop.is_set():
            raise Interrupted("Stopped. What was imported so far stays; the same archive again adds the rest.")

    def advance(self, amount: int) -> None:
        self.done += amount

    def progress(self) -> dict[str, Any]:
        return {"documents": self.documents, "done": self.done, "size": self.size, "unit": self._importer.unit}


def guess(source: Path) -> Guess:
    """Guess the importer for an uploaded archive. Raises InputError if none reads it; advice for a terminal is
    reworded."""
    with _unseen(source.parent):
        try:
            return guess_importer(source)
        except InputError as error:
            for command, instead in IN_A_TERMINAL:
                error.public = command.sub(instead, error.public)
            raise


@contextmanager
def _unseen(folder: Path) -> Iterator[None]:
    """Remove the temporary folder's path from the messages of errors raised in the block."""
    try:
        yield
    except PearlError as error:
        error.message, error.public = (without(folder, text) for text in (error.message, error.public))
        raise


def without(folder: Path, text: str) -> str:
    return printable(text.replace(f"{folder}{os.sep}", ""))


def _importer(kind: str) -> Importer:
    """Load an importer by name. Raises InputError if there is none, or if it reads only folders."""
    if kind in NEEDS_A_FOLDER:
        raise InputError(f"'{kind}' reads a folder on the service's machine: pearl import {kind}", param="kind")
    return cast(Importer, ExportReader()) if kind == EXPORT else load_importer(kind)


def importers() -> Iterator[Importer]:
    """Yield the importers that read uploaded archives, sorted by name."""
    for name in sorted({EXPORT, *importer_names()} - NEEDS_A_FOLDER):
        with suppress(InputError):  # a plug-in that does not load must not hide the others
            yield _importer(name)


def chosen(kind: str, options: Options) -> Importer:
    """Return the importer named ``kind``. Raises InputError if there is none, or if the options do not fit it."""
    importer = _importer(kind)
    if importer.needs_me and not options.me:
        raise InputError(
            f"'{kind}' holds other people's texts, too: say in 'me' which name, address or id there is yours.",
            param="me",
            code="missing_me",
        )
    known = sorted(getattr(importer, "flags", {}))
    if unknown := sorted(options.flags - set(known)):
        offered = f"there are {', '.join(known)}" if known else "it has none"
        raise InputError(f"'{kind}' has no option '{unknown[0]}'; {offered}.", param="option", code="unknown_option")
    return importer


def import_file(
    database: Database, importer: OneUsers, source: Path, options: Options, check_draft: Callable[[StoredDraft], None]
) -> tuple[ImportSummary, list[str]]:
    """Import an uploaded archive. Return the summary and, for PEARL's own export, lines about restored voices, drafts
    and the like."""
    restored, options = list[str](), replace(options, advance=importer.advance)
    known: dict[str, Any] = {"called": source.name, "there": importer.owner}
    with _unseen(source.parent):
        if importer.name != EXPORT:
            summary = run_import(database, cast(Importer, importer), source, options, **known)
        else:
            if source.stat().st_size > MOST_OF_EXPORT:
                raise TooLarge(f"An export of more than {MOST_OF_EXPORT:,} bytes: 'pearl import export' reads it.")
            summary, others = import_export(database, cast(Importer, importer), source, options, check_draft, **known)
            restored = [
                f"{kind}: {counts.restored:,} restored, {counts.already_there:,} already there."
                for kind, counts in others.items()
                if counts.restored or counts.already_there
            ]
            restored += [problem for counts in others.values() for problem in counts.problems]
    return summary, restored
