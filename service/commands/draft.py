"""``pearl draft``"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager, aclosing, nullcontext

import typer

from pearl.chat.base import Decoding
from pearl.errors import PearlError
from pearl.marks import CLOSING
from pearl.options import ENCODER_OPTION, JSON_OPTION, LLM_OPTION, USER_OPTION, check_writable, known, write_json
from pearl.records import Draft, ScoredDocument
from pearl.settings import Settings, load_settings
from pearl.texts import check_characters, check_id, check_text
from service.commands.common import open_database, read_text
from service.commands.shown import excerpt, moment, printable
from service.drafting import ALWAYS, AUTO, NEVER, Commission, Delta, Event, Finished

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXAMPLES = """Examples:

\b
  pearl draft "Ask Nan for the costume rails again"
  pearl draft - --voice email < message.txt > reply.txt
  pearl draft "Tomas asks for my Saturday" --user me --instructions "At most five lines."
  pearl draft "reset: say why the index is kept" --user ada --json - | jq -r .text
"""


@app.command(epilog=EXAMPLES)
def draft(
    request: str = typer.Argument(
        metavar="REQUEST", help="What is asked for, or the message to answer; '-' reads it from standard input."
    ),
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="One of the user's voices."),
    instructions: str = typer.Option("", "--instructions", help="For this draft; they outrank the learned style."),
    k: int | None = typer.Option(None, "-k", min=1, max=20, help="Documents to show the model."),
    revise: str = typer.Option(AUTO, "--revise", help="auto, never or always."),
    llm: str | None = LLM_OPTION,
    encoder: str | None = ENCODER_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Draft a text the way a user would have written it.

    The text streams to standard output. The draft's id, and the documents that shaped it with their scores, dates and
    requests, go to standard error; `pearl feedback` says what became of the draft.
    """
    check_writable("--json", json)
    settings = load_settings(llm=llm, encoder=encoder)
    commission = Commission(
        check_text(read_text("REQUEST", request) if request == "-" else request, param="request"),
        None if voice is None else check_id(voice, param="voice"),
        check_characters(instructions, param="instructions"),
        k,
        known("revise", revise, (AUTO, NEVER, ALWAYS)),
        decoding=Decoding(settings.max_draft_tokens, stop=(CLOSING,)),
    )
    with open_database(settings):
        written = asyncio.run(_write(settings, user, commission, _Screen(silent=json is not None)))
    if json:
        from service.api.draft_form import draft_body

        write_json(json, draft_body(written))


async def _write(settings: Settings, user: str | None, commission: Commission, screen: _Screen) -> Draft:
    from service.services import Services
    from service.store import users

    services = Services(settings)
    try:
        with services.database.read() as connection:
            author = users.chosen(connection, user)
        with screen.waiting():
            async with aclosing(services.drafter.draft(author, commission)) as events:
                async for event in events:
                    screen.show(event)
                    if isinstance(event, Finished):
                        return event.draft
        raise AssertionError("the pipeline ends with Finished")
    except PearlError:
        screen.break_off()
        raise
    finally:
        await services.stop()


class _Screen:
    """The draft as it is written, on standard output, and everything about it on standard error."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.begun = False
        self.status: AbstractContextManager[object] = nullcontext()

    def waiting(self) -> AbstractContextManager[object]:
        """A sign that something happens, on a terminal, until the first word."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.status import Status

            self.status = Status("Reading the history and writing...", console=Console(stderr=True))
        return self.status

    def show(self, event: Event) -> None:
        if self.silent:
            return
        if isinstance(event, Delta):
            self._begin()
            typer.echo(_for_terminal(event.text), nl=False)
            sys.stdout.flush()
        elif isinstance(event, Finished):
            self._begin()
            typer.echo("\n".join(f"- {question}" for question in event.draft.questions))
            _show_evidence(event.draft)

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self.status.__exit__(None, None, None)

    def break_off(self) -> None:
        """End the line of a text that will not be continued."""
        if self.begun:
            typer.echo("")


def _for_terminal(text: str) -> str:
    """The text without escape sequences where a terminal would obey them."""
    if not sys.stdout.isatty():
        return text
    return "".join(each if each in "\n\t" else printable(each) for each in text)


def _show_evidence(written: Draft) -> None:
    lines = ["", written.id]
    if written.retrieval.documents:
        lines.append("   score  written     request, or how the text begins")
        lines += [_evidence_line(found) for found in written.retrieval.documents]
    lines += [note.message for note in written.retrieval.notes]
    if written.revision.applied:
        lines.append(written.revision.message)
    if not written.questions:
        lines.append(f"What became of it? pearl feedback {written.id} --accepted | --edited FILE | --rejected")
    typer.echo("\n".join(lines), err=True)


def _evidence_line(found: ScoredDocument) -> str:
    document = found.document
    about = excerpt(document.request) if document.request else f'"{excerpt(document.text)}"'
    return f"{found.score:8.4g}  {moment(document.timestamp)[:10]:10}  {printable(about)}"
