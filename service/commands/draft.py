"""``pearl draft``"""

from __future__ import annotations

import asyncio

import typer
from rich.console import Console
from rich.status import Status

from pearl.options import ENCODER_OPTION, JSON_OPTION, LLM_OPTION, write_json
from pearl.records import Draft
from pearl.settings import Settings, load_settings
from service.commands.common import open_database

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXAMPLES = """Examples:

\b
  pearl draft "Ask Nan for the costume rails again" --user sample --voice email
  pearl draft "$(cat message.txt)" --user me --instructions "At most five lines."
  pearl draft "reset: say why the index is kept" --user ada --json - | jq -r .text
"""


@app.command(epilog=EXAMPLES)
def draft(
    request: str = typer.Argument(metavar="REQUEST", help="What is asked for, or the message to answer."),
    user: str = typer.Option(..., "--user", metavar="U", help="Who writes."),
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="One of the user's voices."),
    instructions: str = typer.Option("", "--instructions", help="For this draft; they outrank the learned style."),
    k: int | None = typer.Option(None, "-k", min=1, max=20, help="Documents to show the model."),
    revise: str = typer.Option("auto", "--revise", help="auto, never or always."),
    llm: str | None = LLM_OPTION,
    encoder: str | None = ENCODER_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Draft a text the way a user would have written it; below it, the documents that shaped it with their scores."""
    settings = load_settings(llm=llm, encoder=encoder)
    with Status("Reading the history and writing...", console=Console(stderr=True)):
        written = _draft(settings, user, request, voice, instructions, k, revise)
    if json:
        from service.api.draft_form import draft_body

        write_json(json, draft_body(written))
    else:
        _show(written)


def _draft(
    settings: Settings, user: str, request: str, voice: str | None, instructions: str, k: int | None, revise: str
) -> Draft:
    from service.api.drafts import DraftIn, finished
    from service.api.errors import explain_validation
    from service.services import Services
    from service.store import users

    async def write() -> Draft:
        services = Services(settings)
        try:
            with services.database.read() as connection:
                author = users.get(connection, user)
            return await finished(services.drafter.draft(author, body.commission(settings.max_draft_tokens)))
        finally:
            await services.stop()

    from pydantic import ValidationError

    try:
        body = DraftIn.model_validate(
            {"request": request, "voice": voice, "instructions": instructions, "k": k, "revise": revise}
        )
    except ValidationError as error:
        raise explain_validation({**error.errors()[0], "loc": ("body", *error.errors()[0]["loc"])}) from None
    with open_database(settings):
        return asyncio.run(write())


def _show(written: Draft) -> None:
    typer.echo(written.text or "\n".join(f"- {question}" for question in written.questions))
    typer.echo("")
    for found in written.retrieval.documents:
        opening = " ".join(found.document.text.split())
        typer.echo(f"{found.score:8.4f}  {found.document.id}  {opening[:80]}")
    for note in written.retrieval.notes:
        typer.echo(note.message, err=True)
    if written.revision.applied:
        typer.echo(written.revision.message, err=True)
