"""Writing a draft from a command: the text appears while it is written, then the documents behind it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing, closing, nullcontext
from typing import TYPE_CHECKING

import typer

from pearl.errors import ChatError, PearlError
from pearl.models.chat.base import PromptRead
from pearl.models.runtime.progress import duration
from pearl.records import Draft, ScoredDocument
from pearl.settings import Settings
from pearl.style.editing.edits import editing_lines
from pearl.text.usable import printable
from service.commands.common import open_database
from service.commands.shown import claim_lines, excerpt, for_terminal, moment
from service.drafting.drafter import Delta, DraftJob, Embedding, Finished, Retrieved
from service.drafting.wire import Order, ServerGone, answers
from service.histories.embedding import BATCH
from service.services import Services

if TYPE_CHECKING:
    from rich.status import Status

Begun = Callable[[str], None]
WAITING = "Reading the history and writing..."
NOT_DELIVERED = {"revision_failed", "revision_unreadable", "revision_not_better"}


class DraftWriter:
    """Writes drafts for commands, and shows each while it is written unless ``silent``. A running server of the same
    PEARL_HOME and settings writes them if there is one, else this process does."""

    def __init__(self, settings: Settings, *, silent: bool) -> None:
        self._settings, self._silent = settings, silent
        self._runner = asyncio.Runner()
        self._services: Services | None = None

    def __enter__(self) -> DraftWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._runner.close()

    def write(self, user: str | None, job: DraftJob, begun: Begun = lambda draft_id: None) -> Draft:
        """Write a draft and return it. ``begun`` is called with the draft's id before it is written; again with another
        id if the server ends and this process takes over. Raises PearlError."""
        screen = _Screen(begun, silent=self._silent)
        try:
            with screen.waiting():
                return self._by_server(Order(user, job), screen) or self._here(user, job, screen)
        except PearlError as error:
            screen.break_off()
            if isinstance(error, ChatError):
                self._close()
            raise

    def _by_server(self, order: Order, screen: _Screen) -> Draft | None:
        """Let the running server write the draft. Return None if none runs, or if it ended before the first word."""
        try:
            with closing(answers(self._settings, order, say)) as events:
                for event in events:
                    if (draft := screen.take(event)) is not None:
                        self._close()  # one model in memory is enough
                        return draft
        except ServerGone as error:
            if screen.begun:
                raise
            say(f"{error.message} It is written without it.")
        return None

    def _here(self, user: str | None, job: DraftJob, screen: _Screen) -> Draft:
        self._services = self._services or open_services(self._settings)
        return self._runner.run(_write(self._services, user, job, screen))

    def forget(self, user_id: int) -> None:
        """Remove the user's texts from memory, so that none stay there after they are deleted."""
        if self._services:
            self._services.forget(user_id)

    def _close(self) -> None:
        services, self._services = self._services, None
        if services:
            self._runner.run(services.stop())


def say(line: str) -> None:
    typer.echo(line, err=True)


def open_services(settings: Settings) -> Services:
    logging.getLogger("pearl.models.chat").addHandler(
        logging.NullHandler()
    )  # its failures are shown as errors and evidence
    with open_database(settings):  # its schema is brought up to date
        return Services(settings)


async def _write(services: Services, user: str | None, job: DraftJob, screen: _Screen) -> Draft:
    async with aclosing(services.draft_for(user, job)) as events:
        async for event in events:
            if (draft := screen.take(event)) is not None:
                return draft
    raise AssertionError("the pipeline ends with Finished")


class _Screen:
    """Shows a draft on standard output while it is written, and all about it on standard error."""

    def __init__(self, begun: Begun, *, silent: bool) -> None:
        self.told_begun = begun
        self.silent = silent
        self.begun = False
        self.variant = 0  # index of the text that is shown
        self.line = ""  # of the text, as far as it stands on a line that has not ended
        self.text_in_sight = sys.stdout.isatty()
        self.status: Status | None = None  # None off a terminal

    def waiting(self) -> AbstractContextManager[object]:
        """Return a context that shows a waiting sign on a terminal until the first word."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.status import Status

            self.status = Status(WAITING, console=Console(stderr=True))
        return self.status or nullcontext()

    def take(self, event: object) -> Draft | None:
        """Show an event of the drafting; return the draft if this is the last event, else None."""
        if isinstance(event, Retrieved):
            self.told_begun(event.draft_id)
        elif isinstance(event, Embedding):
            self._embedding(event.embedded, event.texts)
        elif isinstance(event, PromptRead):
            self._show_read(event)
        elif not self.silent:
            self._show(event)
        return event.draft if isinstance(event, Finished) else None

    def _embedding(self, done: int, total: int) -> None:
        """Show how many texts are embedded. Without a terminal, say once that texts must be embedded."""
        if self.status is not None:
            share = f"Embedding {total:,} texts, once: {done / max(1, total):.0%} done..."
            self.status.update(WAITING if done == total else share)
        elif not done and total > BATCH:
            typer.echo(f"Embedding {total:,} texts first, once.", err=True)

    def _show(self, event: object) -> None:
        if isinstance(event, Delta):
            self._begin()
            if event.variant > self.variant:
                self.variant = event.variant
                typer.echo(f"\n\n--- variant {event.variant + 1} ---\n")
            self._print(for_terminal(event.text))
        elif isinstance(event, Finished):
            self._begin()
            typer.echo(for_terminal("\n".join(f"- {question}" for question in event.draft.questions)))
            _show_evidence(event.draft)

    def _show_read(self, read: PromptRead) -> None:
        """Show on a terminal how much of the prompt is read, behind the last line of the text so far."""
        if self.status is None:
            return
        from rich.cells import cell_len
        from rich.markup import escape

        left = "" if read.seconds_left is None else f", about {duration(read.seconds_left)} left"
        share = f"Reading: {read.done / read.total:.0%} of {read.total:,} tokens{left}..."
        line = self.line if self.text_in_sight else ""
        if cell_len(line) + len(share) + 4 > self.status.console.width:  # it could not be taken back
            return
        if self.begun and line:
            typer.echo("\r\x1b[2K", nl=False)
        self.status.update(f"{escape(line)} [dim]{share if read.done < read.total else 'Writing...'}[/]")
        self.status.start()
        self.begun = False

    def _print(self, text: str) -> None:
        typer.echo(text, nl=False)
        sys.stdout.flush()
        self.line = (self.line + text).rpartition("\n")[2]

    def _begin(self) -> None:
        """Remove the status line, and print the line of text that it hid."""
        if self.begun:
            return
        self.begun = True
        if self.status is not None:
            self.status.stop()
        if self.text_in_sight:
            typer.echo(self.line, nl=False)

    def break_off(self) -> None:
        """End the line of a text that will not go on."""
        if self.begun:
            typer.echo("")


def _show_evidence(written: Draft) -> None:
    lines = ["", written.id]
    if written.retrieval.documents:
        lines.append("   score  written     request, or how the text begins")
        lines += [_evidence_line(scored) for scored in written.retrieval.documents]
    lines += [note.message for note in written.retrieval.notes]
    lines += claim_lines(written.claims)
    for number, variant in enumerate(written.variants[1:], start=2):
        notes = [note.message for note in variant.notes if note not in written.retrieval.notes]
        lines += [f"variant {number}: {line}" for line in (*notes, *claim_lines(variant.claims))]
    if written.revision.applied:
        lines.append(written.revision.message)
    elif written.revision.reason in NOT_DELIVERED:
        lines.append(f"Not revised: {written.revision.message}")
    if written.decided_by is not None:
        lines.append(written.decided_by.message)
    if written.editing is not None:
        lines += editing_lines(written.editing)
    if not written.questions:
        which = " [--variant N]" if len(written.variants) > 1 else ""
        lines.append(f"What became of it? pearl feedback {written.id} --accepted{which} | --edited FILE | --rejected")
    typer.echo("\n".join(lines), err=True)


def _evidence_line(scored: ScoredDocument) -> str:
    document = scored.document
    about = excerpt(document.request) if document.request else f'"{excerpt(document.text)}"'
    return f"{scored.score:8.4g}  {moment(document.timestamp)[:10]:10}  {printable(about)}"
