"""``pearl draft``"""

from __future__ import annotations

import typer

from pearl.cli.options import JSON_OPTION, LLM_OPTION, USER_OPTION, check_writable, known, write_json
from pearl.models.chat.base import Decoding
from pearl.models.prompts import INTENTS, check_length, instructed
from pearl.settings import load_settings
from pearl.text.answers.marks import CLOSING
from pearl.text.recipients import check_recipient
from pearl.text.usable import check_characters, check_id, check_text

EXAMPLES = """
  pearl draft "Ask Nan for the costume rails again"
  pearl draft - --voice email < message.txt > reply.txt
  pearl draft "Tomas asks for my Saturday" --user me --instructions "At most five lines."
  pearl draft "Tomas asks for my Saturday" --intent decline --length shorter --to tomas@example.org
  pearl draft "Thank Nan for the rails" --variants 3
  PEARL_REWARD_MODEL=embedded pearl draft "Tomas asks for my Saturday" --candidates 8
  pearl draft "reset: say why the index is kept" --user ada --json - | jq -r .text
"""


def draft(
    request: str = typer.Argument(
        metavar="REQUEST", help="Request, or message to answer; '-' reads it from standard input."
    ),
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="One of the user's voices."),
    instructions: str = typer.Option(
        "", "--instructions", help="Instructions for this draft; they outrank the learned style."
    ),
    intent: str | None = typer.Option(
        None, "--intent", help=f"Aim of the draft, whatever the request says: {', '.join(INTENTS)}."
    ),
    length: str | None = typer.Option(
        None, "--length", metavar="LENGTH", help="Number of words, or shorter or longer than usual."
    ),
    to: str | None = typer.Option(
        None, "--to", metavar="WHOM", help="Recipient, whom the sent text keeps: an address, handle, name or channel."
    ),
    thread: str | None = typer.Option(
        None, "--thread", metavar="ID", help="Conversation that the text belongs to; the sent text keeps it."
    ),
    k: int | None = typer.Option(None, "-k", min=1, max=20, help="Documents to show the model."),
    revise: str = typer.Option("auto", "--revise", help="Revise the draft: auto, never or always."),
    candidates: int = typer.Option(
        0, "--candidates", min=0, max=20, help="Edits of the draft to choose the best of; needs PEARL_REWARD_MODEL."
    ),
    variants: int = typer.Option(1, "--variants", min=1, max=3, help="Different texts to write, one after the other."),
    edges: bool | None = typer.Option(
        None, "--edges/--no-edges", help="Begin and end as the user does, by rule, or not; else as the voice says."
    ),
    llm: str | None = LLM_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Draft a text the way a user would have written it.

    The text streams to standard output. The draft's id, and the documents that shaped it with their scores, dates and
    requests, go to standard error; `pearl feedback` says what became of the draft.
    """
    # imported here: they load the store and the models, which help does not need
    from service.commands.common import read_text
    from service.commands.writing import DraftWriter
    from service.drafting.drafter import ALWAYS, AUTO, NEVER, DraftJob
    from service.store.voices import chosen

    check_writable("--json", json)
    settings = load_settings(llm=llm)
    wanted = None if length is None else check_length(length, param="--length")
    job = DraftJob(
        check_text(read_text("REQUEST", request) if request == "-" else request, param="request"),
        None if voice is None else chosen(check_id(voice, param="voice")),
        instructed(
            check_characters(instructions, param="instructions"), intent and known("intent", intent, INTENTS), wanted
        ),
        k,
        known("revise", revise, (AUTO, NEVER, ALWAYS)),
        candidates,
        variants,
        decoding=Decoding(settings.max_draft_tokens, stop=(CLOSING,)),
        recipient=None if to is None else check_recipient(to, param="--to"),
        thread=None if thread is None else check_id(thread, param="--thread"),
        length=wanted,
        edges=edges,
    )
    with DraftWriter(settings, silent=json is not None) as writer:
        written = writer.write(user, job)
    if json:
        from service.http.api.draft_form import DraftOut

        write_json(json, DraftOut.of(written).model_dump())
