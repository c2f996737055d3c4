"""Writing a draft on the terminal: the text as it is written, and the documents behind it."""

from __future__ import annotations

import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import TYPE_CHECKING

import typer

from pearl.chat.base import PromptRead
from pearl.editing.edits import editing_lines
from pearl.errors import ChatError, PearlError
from pearl.records import Draft, ScoredDocument
from pearl.runtime.progress import duration
from pearl.settings import Settings
from pearl.text.usable import printable
from retriever.models.encoder import SentenceEncoder
from service.commands.shown import claim_lines, excerpt, for_terminal, moment
from service.drafting.drafter import Delta, DraftJob, Event, Finished, OnRecord
from service.histories.embedding import BATCH
from service.process.threads import in_thread
from service.services import Services
from service.store import users, voices

if TYPE_CHECKING:
    from rich.status import Status

WAITING = "Reading the history and writing..."
NOT_DELIVERED = {"revision_failed", "revision_unreadable", "revision_not_better"}


class DraftWriter:
    """Writes drafts with one set of services, made for the first of them and kept until the end; made anew if the
    model failed. Each is shown meanwhile, unless the writer is ``silent``."""

    def __init__(self, settings: Settings, *, silent: bool) -> None:
        self._settings, self._silent = settings, silent
        self._runner = asyncio.Runner()
        self._services: Services | None = None

    def __enter__(self) -> DraftWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._runner.close()

    def write(self, user: str | None, job: DraftJob, on_record: OnRecord = lambda *_: None) -> Draft:
        """Write a draft and return it. ``on_record`` is called in the transaction that records it. Raises
        PearlError."""
        self._services = self._services or _open(self._settings)
        try:
            return self._runner.run(_write(self._services, user, job, on_record, _Screen(silent=self._silent)))
        except ChatError:
            self._close()
            raise

    def forget(self, user_id: int) -> None:
        """Drop the user's texts from memory, so that they do not stay there if they are deleted meanwhile."""
        if self._services:
            self._services.forget(user_id)

    def _close(self) -> None:
        services, self._services = self._services, None
        if services:
            self._runner.run(services.stop())


def _open(settings: Settings) -> Services:
    logging.getLogger("pearl.chat").addHandler(logging.NullHandler())  # its failures are shown as errors and evidence
    encoder = SentenceEncoder(settings.encoder)
    return Services(settings, encoder=encoder)


async def _write(services: Services, user: str | None, job: DraftJob, on_record: OnRecord, screen: _Screen) -> Draft:
    try:
        with services.database.read() as connection:
            author = users.chosen(connection, user)
            voices.chosen_there(connection, author.id, job.voice)
        if services.needs_encoder and isinstance(services.encoder, SentenceEncoder):
            # Its weights are compiled without the interpreter's lock, while a thread imports an endpoint's library.
            loader = ThreadPoolExecutor(1, thread_name_prefix="loader")
            loader.submit(services.encoder.load)  # a failure is raised again where the encoder is needed
            loader.shutdown(wait=False)
        with screen.waiting():
            await in_thread(services.drafter.check, author, job)
            await in_thread(services.embed, author.id, screen.embedding)
            async with aclosing(services.drafter.draft(author, job, on_record)) as events:
                async for event in events:
                    screen.show(event)
                    if isinstance(event, Finished):
                        return event.draft
        raise AssertionError("the pipeline ends with Finished")
    except PearlError:
        screen.break_off()
        raise


class _Screen:
    """Shows the draft on standard output as it is written, and everything about it on standard error."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.begun = False
        self.variant = 0  # index of the text that is shown
        self.line = ""  # of the text, as far as it stands on a line that has not ended
        self.text_in_sight = sys.stdout.isatty()
        self.status: Status | None = None  # None off a terminal

    def waiting(self) -> AbstractContextManager[object]:
        """Show on a terminal that something happens, until the first word."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.status import Status

            self.status = Status(WAITING, console=Console(stderr=True))
        return self.status or nullcontext()

    def embedding(self, done: int, total: int) -> None:
        """Show how many texts are embedded; off a terminal say once that there are some."""
        if self.status is not None:
            share = f"Embedding {total:,} texts, once: {done / max(1, total):.0%} done..."
            self.status.update(WAITING if done == total else share)
        elif not done and total > BATCH:
            typer.echo(f"Embedding {total:,} texts first, once.", err=True)

    def show(self, event: Event) -> None:
        if isinstance(event, PromptRead):
            self._show_read(event)
        elif self.silent:
            return
        elif isinstance(event, Delta):
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
        """Show on a terminal how much of the prompt is read, behind the line of the text that has begun, if any."""
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
        """Take the status away, and print what it stood for."""
        if self.begun:
            return
        self.begun = True
        if self.status is not None:
            self.status.stop()
        if self.text_in_sight:
            typer.echo(self.line, nl=False)

    def break_off(self) -> None:
        """End the line of a text that will not be continued."""
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
