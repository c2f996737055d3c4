"""The run of ``pearl forensics pairs`` with two models: both answer the same prompts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console

from eval.asking.bench import Asking, bench
from eval.drafts.generation import counts
from eval.drafts.model_pairs import answer_of, model_pairs, read_prompts
from eval.recorded.forensics.pair_files import write_pairs
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table, counts_cell
from pearl.asking.ask import Terms
from pearl.asking.kept import Question
from pearl.chat.base import Decoding, Message
from pearl.chat.choose import engine_and_model
from pearl.cli.options import write_json
from pearl.errors import ChatError, InputError
from pearl.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.commands.forensics.pairs import MannerOptions


def pair_models(options: MannerOptions, outputs: Outputs, json: str | None) -> None:
    """Ask both models for what is not kept, and write the pairs; a dry run writes its estimate alone.

    Raises InputError for options and files that cannot be used, ChatError where no prompt has two answers.
    """
    assert options.prompts is not None
    if options.against is None:
        raise InputError("--prompts needs --against, the other model.", param="against", code="missing_option")
    if options.user:
        raise InputError("--user chooses in --history; leave it out.", param="user")
    prompts = read_prompts(options.prompts)
    questions = [Question((Message("user", prompt),)) for prompt in prompts]
    terms = Terms(options.max_in_flight, options.prices, options.max_cost, refuse_empty=True)
    longest = options.max_tokens or load_settings().max_draft_tokens
    ways = map(engine_and_model, (options.llm, options.against))
    with ExitStack() as closing:
        asked = [Asking(engine, options.generations, terms, Decoding(longest), model=model) for engine, model in ways]
        first, second = (closing.enter_context(bench(asking, Console(stderr=True))) for asking in asked)
        names = first.model.name, second.model.name
        if names[0] == names[1]:
            raise InputError(f"--llm and --against are both {names[0]}; name two models.", param="against")
        if options.dry_run:
            estimates = {at.model.name: at.estimate(questions)["estimate"] for at in (first, second)}
            write_json(json or "-", _head_of(options, longest).to_json() | {"estimate": estimates})
            return
        rounds = [first.ask(f"answers of {names[0]}", questions)]
        rounds.append(replace(second, terms=rounds[0].left_of(terms)).ask(f"answers of {names[1]}", questions))
        answers = [[answer_of(reply) for reply in each.replies()] for each in rounds]
    data = model_pairs(prompts, [[answer.text for answer in mine] for mine in answers], names, options.seed)
    counted = {name: counts(mine) for name, mine in zip(names, answers, strict=True)}
    if not data.pairs:
        why = "; ".join(f"{name}: {counts_cell(each['failures'])}" for name, each in counted.items())
        raise ChatError(f"No prompt has two answers: {why}.", code="nothing_generated")
    write_pairs(options.out, data)
    elicitation = {name: each.to_json() for name, each in zip(names, rounds, strict=True)}
    figures = {"n": len(data.pairs), "prompts": len(prompts), "models": counted, "elicitation": elicitation}
    outputs.write(_head_of(options, longest), Report(figures, _tables))


def _head_of(options: MannerOptions, longest: int) -> Head:
    asked = {"prompts": options.prompts, "out": options.out, "llm": options.llm, "against": options.against}
    return Head.of("forensics", "pairs", judge=None, **asked, max_tokens=longest, seed=options.seed)


def _tables(result: Json) -> Iterator[Table]:
    """The answers that are missing or cut off, by model."""
    rows = tuple(
        (name, counts_cell(each["failures"]) or "-", f"{each['cut_off']:,}") for name, each in result["models"].items()
    )
    caption = f"{result['n']:,} pairs of {result['prompts']:,} prompts."
    yield Table(caption, ("answers of", "without an answer", "cut off"), rows, result["command"])
