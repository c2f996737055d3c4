"""``pearl forensics pairs``: make pairs of texts to annotate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import Option

from eval.asking.bench import Asking, bench
from eval.commands.forensics.annotate import check_out
from eval.commands.options import DraftingOptions, DryRun, MaxCost
from eval.commands.writing import WritingPlan, drafts_of, writer
from eval.drafts.comparison import counts
from eval.drafts.manner_pairs import answer_of, answered, manner_pairs, model_pairs, read_prompts
from eval.recorded.forensics.pair_files import write_pairs
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table, counts_cell
from pearl.cli.options import JSON_OPTION, bundled, check_unread, write_json
from pearl.errors import ChatError, InputError
from pearl.models.asking.kept import Question
from pearl.models.chat.base import Decoding, Message
from pearl.models.chat.choose import engine_and_model
from pearl.models.prompts import PromptInputs
from pearl.settings import Settings, load_settings
from pearl.text.templates import load_template

ABOUT = """A prompt is a line of text, or of JSON Lines with "prompt". Both models answer it without a system message,
and an annotator for each model prefers its answers. A name that is no engine is a model of the endpoint.

A line of the history is a text of a user, as pearl import jsonl takes it; those with a request count. The
model drafts from the request alone. The annotator "person" always prefers the person's own text, and an annotator named
like the user does so on the user's own pairs: traits that agree with it are the person's manner.

Every text is kept: repeat an interrupted command and it goes on where it stopped."""
EXAMPLES = """
  pearl forensics pairs --llm gpt-5 --against embedded --prompts prompts.txt --out models.json
  pearl forensics pairs --history history.jsonl.gz --user ann --llm openai --out ann.json
  pearl forensics annotate --pairs ann.json --out ann.json --rules --words-of person
  pearl forensics metrics --pairs ann.json --reference person
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MannerOptions(DraftingOptions):
    """Options of ``pearl forensics pairs``: either a history and a model, whose drafts are paired with the history's
    texts, or prompts and two models. Drafts are made without documents."""

    out: Annotated[Path, Option(metavar="PAIRS", help="Write the pairs: .json or .jsonl, or .gz.")]
    history: Annotated[Path | None, Option(metavar="H.jsonl.gz", help="History with requests.")] = None
    prompts: Annotated[
        Path | None, Option(metavar="FILE", help="In place of --history: prompts that --llm and --against answer.")
    ] = None
    llm: Annotated[
        str | None,
        Option(
            metavar="A",
            help="Model that writes: an engine, as PEARL_LLM names it, or with --prompts a model of the endpoint.",
        ),
    ] = None
    against: Annotated[str | None, Option(metavar="B", help="The other model of --prompts, named as --llm is.")] = None
    user: Annotated[list[str], Option(help="User to take texts of, all by default; repeatable.")] = field(
        default_factory=list
    )
    targets: Annotated[int, Option(min=1, help="Texts of each user at most, the most recent ones.")] = 25
    k: int | None = None
    limit: int | None = None
    max_cost: MaxCost = None
    dry_run: DryRun = False


@bundled
def pairs(options: MannerOptions, json: str | None = JSON_OPTION) -> None:
    """Pair the answers of two models to the same prompts, or a model's drafts for the requests of a history with what
    the user really wrote."""
    outputs, console = Outputs(json), Console(stderr=True)
    sources = [path for path in (options.history, options.prompts) if path]
    if len(sources) != 1:
        raise InputError("Give either --history or --prompts.")
    outputs.check(sources, {})
    check_out(options.out, {"--json": json})
    check_unread("--out", options.out, sources)
    if options.history is None:
        pair_models(options, outputs, json)
        return
    if options.against:
        raise InputError("--against is the other model of --prompts; leave it out.")
    plan, template = WritingPlan.of(options), load_template(options.template)
    cases = answered(options.history, options.user, options.targets)
    with writer(plan, options.max_cost, console) as writes:
        questions = [writes.question(PromptInputs(template, case.request)) for case in cases]
        fitting = [question for question in questions if question]
        if options.dry_run:
            write_json(json or "-", head_of(options, plan).to_json() | writes.bench.estimate(fitting))
            return
        asked = writes.bench.ask("drafts", fitting)
        drafts = drafts_of(questions, asked.replies())
        model = writes.model.name
    data = manner_pairs(cases, [draft.text for draft in drafts], model)
    if not data.pairs:
        raise ChatError(f"No request has a draft: {counts_cell(counts(drafts)['failures'])}.")
    write_pairs(options.out, data)
    users = {case.user: 0 for case in cases}
    for pair in data.pairs:
        users[pair.metadata["user"]] += 1
    figures = {"writer": plan.writer, "n": len(data.pairs), **counts(drafts), "elicitation": asked.to_json()}
    outputs.write(head_of(options, plan), Report({**figures, "users": users}, pairing_tables))


def head_of(options: MannerOptions, plan: WritingPlan) -> Head:
    asked: dict[str, Any] = {
        "history": options.history,
        "out": options.out,
        "user": list(options.user),
        "targets": options.targets,
    }
    asked |= {"template": options.template, "llm": plan.settings.llm}
    return Head.of("forensics", "pairs", judge=None, settings=plan.settings, **asked)


def pairing_tables(result: Json) -> Iterator[Table]:
    """A table of the number of pairs of each user."""
    rows = tuple((user, f"{count:,}", result["writer"]) for user, count in result["users"].items())
    failed: dict[str, Any] = result["failures"]
    without = ", ".join(f"{count} without a draft ({reason})" for reason, count in failed.items())
    caption = f"{result['n']:,} pairs; {result['cut_off']} drafts cut off{', ' + without if without else ''}."
    yield Table(caption, ("user", "pairs", "against drafts of"), rows, result["command"])


def pair_models(options: MannerOptions, outputs: Outputs, json: str | None) -> None:
    """Ask both models for missing answers to the prompts and write pairs of answers. A dry run only writes an estimate.
    Raises InputError for unusable options and files, and ChatError if no prompt has two answers."""
    assert options.prompts is not None
    if options.against is None:
        raise InputError("--prompts needs --against, the other model.")
    if options.user:
        raise InputError("--user chooses in --history; leave it out.")
    prompts = read_prompts(options.prompts)
    questions = [Question((Message("user", prompt),)) for prompt in prompts]
    settings = load_settings()
    decoding = Decoding(settings.max_draft_tokens)
    ways = map(engine_and_model, (options.llm, options.against))
    with ExitStack() as closing:
        asked = [
            Asking(engine, decoding, options.max_cost, model, "generations.sqlite", refuse_empty=True)
            for engine, model in ways
        ]
        first, second = (closing.enter_context(bench(asking, Console(stderr=True))) for asking in asked)
        names = first.model.name, second.model.name
        if names[0] == names[1]:
            raise InputError(f"--llm and --against are both {names[0]}; name two models.")
        if options.dry_run:
            estimates = {at.model.name: at.estimate(questions)["estimate"] for at in (first, second)}
            write_json(json or "-", models_head(options, settings).to_json() | {"estimate": estimates})
            return
        rounds = [first.ask(f"answers of {names[0]}", questions)]
        rounds.append(replace(second, limits=rounds[0].left_of(second.limits)).ask(f"answers of {names[1]}", questions))
        answers = [[answer_of(reply) for reply in each.replies()] for each in rounds]
    data = model_pairs(prompts, [[answer.text for answer in mine] for mine in answers], names)
    counted = {name: counts(mine) for name, mine in zip(names, answers, strict=True)}
    if not data.pairs:
        why = "; ".join(f"{name}: {counts_cell(each['failures'])}" for name, each in counted.items())
        raise ChatError(f"No prompt has two answers: {why}.")
    write_pairs(options.out, data)
    elicitation = {name: each.to_json() for name, each in zip(names, rounds, strict=True)}
    figures = {"n": len(data.pairs), "prompts": len(prompts), "models": counted, "elicitation": elicitation}
    outputs.write(models_head(options, settings), Report(figures, answers_tables))


def models_head(options: MannerOptions, settings: Settings) -> Head:
    asked = {"prompts": options.prompts, "out": options.out, "llm": options.llm, "against": options.against}
    return Head.of("forensics", "pairs", judge=None, settings=settings, **asked)


def answers_tables(result: Json) -> Iterator[Table]:
    """A table of the answers that are missing or cut off, for each model."""
    rows = tuple(
        (name, counts_cell(each["failures"]) or "-", f"{each['cut_off']:,}") for name, each in result["models"].items()
    )
    caption = f"{result['n']:,} pairs of {result['prompts']:,} prompts."
    yield Table(caption, ("answers of", "without an answer", "cut off"), rows, result["command"])
