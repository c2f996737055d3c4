"""``pearl edit``"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from pearl.cli.options import JSON_OPTION, LLM_OPTION, bundled, check_writable, write_json

if TYPE_CHECKING:
    from pearl.models.asking.ask import AskingOutcome
    from pearl.records import PlacedEdit
    from pearl.settings import Settings
    from pearl.style.editing.candidates import Candidate
    from pearl.style.editing.edits import SpanEdit

EXAMPLES = """
  pearl edit draft.txt > better.txt
  pearl edit draft.txt --candidates 20 --model embedded --llm openai
  pearl edit - --candidates 8 --model REWARD --max-cost 0.1 --json - < draft.txt
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions:
    """The options of ``pearl edit``."""

    candidates: Annotated[
        int, Option("--candidates", metavar="N", min=1, max=100, help="Edits to ask for; more than one needs --model.")
    ] = 1
    model: Annotated[
        str | None,
        Option(
            "--model",
            metavar="MODEL",
            help="Reward model that chooses: a folder, or embedded. Without it the one candidate is taken.",
        ),
    ] = None
    instructions: Annotated[str, Option("--instructions", help="Instructions that every rewrite must follow.")] = ""
    llm: Annotated[str | None, Option("--llm", metavar="LLM", help=LLM_OPTION.help)] = None
    max_cost: Annotated[float | None, Option("--max-cost", min=0, help="Stop before this run costs more.")] = None
    json: Annotated[str | None, Option("--json", metavar="FILE", help=JSON_OPTION.help)] = None


@bundled
def edit(
    options: EditOptions,
    draft: str = typer.Argument(metavar="FILE", help="Draft to edit; '-' reads it from standard input."),
) -> None:
    """Edit a draft in three steps: find weak spans, rewrite each, execute the edits.

    The edited text goes to standard output; the edits, and why some were not executed, go to standard error. Of several
    candidates the best by the reward model is taken; if none is better than the draft, the draft stays. The model's
    replies are kept, so the same command does not ask again.
    """
    # imported here: help does not need them
    from pearl.errors import InputError
    from pearl.settings import load_settings
    from pearl.style.editing.best_of import edited_text, editing_of, only_edit, select
    from pearl.style.editing.edits import editing_lines
    from pearl.text.usable import check_characters, check_text
    from pearl.text.words import composed
    from retriever.reward.model import load_scores
    from service.commands.common import read_text
    from service.commands.shown import for_terminal

    check_writable("--json", options.json, [Path(draft)])
    if options.candidates > 1 and options.model is None:
        raise InputError("--candidates needs a reward model to choose by: name one with --model.")
    # with composed letters (NFC), as the model will write its spans
    text = composed(check_text(read_text("FILE", draft), param=f"FILE {draft}"))
    instructions = check_characters(options.instructions, param="instructions")
    rewards = None if options.model is None else load_scores(options.model, f"--model {options.model}")
    settings = load_settings(llm=options.llm, llm_max_retries=0)  # pearl.models.asking.patience repeats calls
    candidates, outcome = asyncio.run(_ask(settings, options, text, instructions))
    if rewards is None:
        editing = only_edit(text, candidates[0])
    else:
        editing = editing_of(text, candidates, select(text, [candidate.text for candidate in candidates], rewards))
    edited = edited_text(editing)
    if options.json:
        write_json(
            options.json,
            {"text": edited, **asdict(editing), "proposed": _proposed(candidates), "calls": outcome.to_json()},
        )
        return
    typer.echo(for_terminal(edited))
    lines = list(editing_lines(editing))
    if rewards is None:
        lines += [f"  ! {row['span']!r}: {row['refused']}" for row in _proposed(candidates) if row["refused"]]
    typer.echo("\n".join(lines), err=True)


async def _ask(
    settings: Settings, options: EditOptions, text: str, instructions: str
) -> tuple[list[Candidate], AskingOutcome]:
    from pearl.models.asking.ask import CallLimits
    from pearl.models.asking.kept import open_replies
    from pearl.models.asking.patience import UNREPORTED
    from pearl.models.chat.choose import calls_at_once, make_chat_model, writer_of
    from pearl.style.editing.candidates import EditingContext
    from service.process.masked_model import masked

    limits = CallLimits(calls_at_once(settings, settings.max_in_flight), settings.prices, options.max_cost)
    model = masked(settings, make_chat_model(settings, in_flight=settings.max_in_flight))
    try:
        with open_replies(settings.home / "editor-replies.sqlite") as store:
            context = EditingContext(model, writer_of(settings), store, limits)
            return await context.candidates(text, options.candidates, UNREPORTED, instructions)
    finally:
        await model.close()


def _proposed(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return every proposed edit with its candidate's number, and why it was refused, if it was."""
    rows = []
    for number, candidate in enumerate(candidates):
        edits: list[tuple[SpanEdit | PlacedEdit, str | None]] = []
        if candidate.execution is not None:
            edits += [(placed, None) for placed in candidate.execution.placed]
        edits += [(refused.edit, refused.reason) for refused in candidate.refused]
        for proposed, reason in edits:
            edit = {"span": proposed.span, "rewrite": proposed.rewrite, "category": proposed.category}
            rows.append({"candidate": number, **edit, "refused": reason})
    return rows
