"""``pearl forensics pairs``"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from eval.commands.options import DraftingOptions, DryRun, PriceOptions
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table, counts_cell
from pearl.cli.options import JSON_OPTION, bundled

if TYPE_CHECKING:
    from eval.commands.writing import Plan

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
class MannerOptions(PriceOptions, DraftingOptions):
    """A history, and the model whose drafts stand against its texts; or prompts and two models. No documents are
    shown."""

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
    encoder: str | None = None
    dry_run: DryRun = False


@bundled
def pairs(options: MannerOptions, json: str | None = JSON_OPTION) -> None:
    """Pair the answers of two models to the same prompts, or a model's drafts for the requests of a history with what
    the user really wrote."""
    from rich.console import Console

    from eval.commands.forensics.asking import check_out
    from eval.commands.forensics.model_pairing import pair_models
    from eval.commands.writing import Plan, drafts_of, writer
    from eval.drafts.generation import counts
    from eval.drafts.manner_pairs import answered, manner_pairs
    from eval.recorded.forensics.pair_files import write_pairs
    from pearl.cli.options import check_unread, write_json
    from pearl.errors import ChatError, InputError
    from pearl.prompts import Brief
    from pearl.templates import load_template

    outputs, console = Outputs(json), Console(stderr=True)
    sources = [path for path in (options.history, options.prompts) if path]
    if len(sources) != 1:
        raise InputError("Give either --history or --prompts.", param="history")
    outputs.check(sources, {})
    check_out(options.out, {"--json": json})
    check_unread("--out", options.out, sources)
    if options.history is None:
        pair_models(options, outputs, json)
        return
    if options.against:
        raise InputError("--against is the other model of --prompts; leave it out.", param="against")
    plan, template = Plan.of(options), load_template(options.template)
    cases = answered(options.history, options.user, options.targets)
    with writer(plan, options.prices, options.max_cost, console) as writes:
        questions = [writes.question(Brief(template, case.request)) for case in cases]
        fitting = [question for question in questions if question]
        if options.dry_run:
            write_json(json or "-", head_of(options, plan).to_json() | writes.bench.estimate(fitting))
            return
        asked = writes.bench.ask("drafts", fitting)
        drafts = drafts_of(questions, asked.replies())
        model = writes.model.name
    data = manner_pairs(cases, [draft.text for draft in drafts], model, options.seed)
    if not data.pairs:
        raise ChatError(f"No request has a draft: {counts_cell(counts(drafts)['failures'])}.", code="nothing_generated")
    write_pairs(options.out, data)
    users = {case.user: 0 for case in cases}
    for pair in data.pairs:
        users[pair.metadata["user"]] += 1
    figures = {"writer": plan.writer, "n": len(data.pairs), **counts(drafts), "elicitation": asked.to_json()}
    outputs.write(head_of(options, plan), Report({**figures, "users": users}, pairing_tables))


def head_of(options: MannerOptions, plan: Plan) -> Head:
    asked: dict[str, Any] = {
        "history": options.history,
        "out": options.out,
        "user": list(options.user),
        "targets": options.targets,
    }
    asked |= {"template": options.template, "llm": plan.settings.llm, "max_tokens": plan.longest, "seed": options.seed}
    return Head.of("forensics", "pairs", judge=None, **asked)


def pairing_tables(result: Json) -> Iterator[Table]:
    """The pairs of each user."""
    rows = tuple((user, f"{count:,}", result["writer"]) for user, count in result["users"].items())
    failed: dict[str, Any] = result["failures"]
    without = ", ".join(f"{count} without a draft ({reason})" for reason, count in failed.items())
    caption = f"{result['n']:,} pairs; {result['cut_off']} drafts cut off{', ' + without if without else ''}."
    yield Table(caption, ("user", "pairs", "against drafts of"), rows, result["command"])
