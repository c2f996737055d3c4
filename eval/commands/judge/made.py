"""The commands of the judges, made from their declarations: flags from the options, choices from the presets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from eval.asking.bench import Asking, JudgeSession, bench
from eval.asking.choices import TOP_P, Presets
from eval.asking.json_lines import write_lines
from eval.commands.options import (
    DryRun,
    InFlight,
    Llm,
    Overrides,
    PresetName,
    PriceOptions,
    RayCluster,
    Replies,
    Seed,
    option,
)
from eval.commands.reporting import flag_of
from eval.judges.items import Items
from eval.judges.judge import ItemT, Judge, Judgements, OptionsT, Questions, run
from eval.recorded.corrected import CorrectedOptions, corrected_report, corrected_tables
from eval.recorded.labels import PeopleLabels, item_name, judged_items, labels_for
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table
from pearl.asking.ask import Terms
from pearl.chat.base import Decoding
from pearl.cli.commands import PathCommand, epilog
from pearl.cli.options import JSON_OPTION, parameter, parameters_of, write_json
from pearl.errors import InputError

HUMAN_HELP = "People's labels of some items; correct the rates by them, as pearl eval corrected does."
Temperature = Annotated[float, option(min=0, max=2, help="Temperature of the judge; at 0, runs are copies.")]


@dataclass(frozen=True, kw_only=True)  # without slots, which a class inherits from one base only
class AskingOptions(PriceOptions):
    """The options of every command that asks a judge."""

    preset: PresetName = ""
    choose: Overrides = None
    temperature: Temperature = 0.7
    seed: Seed = 0
    replies: Replies = None
    dry_run: DryRun = False
    judgements: Annotated[Path | None, option(metavar="FILE.jsonl", help="Write each judgement on a line.")] = None
    json: Annotated[str | None, option(metavar="FILE", help=JSON_OPTION.help)] = None

    def asking(self) -> Asking:
        """The way the model is asked."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions(AskingOptions):
    """``max_tokens`` None: as many as the judge needs for its way of asking."""

    items: Annotated[Path, option(metavar="ITEMS.jsonl", help="Items, see below.")]
    llm: Llm = None
    ray: RayCluster = None
    top_p: Annotated[
        float | None,
        option(min=0.01, max=1, help="Draw from the likeliest tokens of this share; from all by default."),
    ] = None
    max_tokens: Annotated[
        int | None, option(min=1, help="Tokens in a reply at most; a reply cut off there is invalid.")
    ] = None
    limit: Annotated[int | None, option(min=1, help="Take a random sample of this many items.")] = None
    max_in_flight: InFlight = 8
    human: Path | None = None  # --labels is another option of some judge

    def asking(self) -> Asking:
        assert self.max_tokens is not None
        terms = Terms(self.max_in_flight, self.prices, self.max_cost)
        decoding = Decoding(self.max_tokens, self.temperature, self.top_p or 1.0)
        return Asking(self.llm, self.replies, terms, decoding, ray=self.ray)


class GroupedCommand(PathCommand):
    """A command whose help shows its options in groups, each under its title."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "rich_help_panel", None) or "Options", []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def register(app: typer.Typer, judge: Judge[Any, Any]) -> None:
    examples = "\n".join(f"  pearl judge {judge.name} {words}" for words in judge.examples)
    ends = epilog(examples, judge.about_items, presets_of(judge).help())
    app.command(judge.name, help=judge.summary, epilog=ends, cls=GroupedCommand)(command_of(judge))


def presets_of(judge: Judge[Any, Any]) -> Presets:
    """The judge's choices, and how its replies are drawn."""
    return judge.presets.plus(TOP_P, "1") if judge.presets.choices else judge.presets


def command_of(judge: Judge[Any, Any]) -> Callable[..., None]:
    """A function whose parameters are the judge's own options, then those of every judge."""
    own = {declared.name: declared for declared in parameters_of(judge.options)}
    shared = {declared.name: declared for declared in parameters_of(SharedOptions)}
    output = option(f"--{judge.output}", metavar="FILE.jsonl", help=judge.output_help)
    shared["judgements"] = parameter("judgements", Annotated[Path | None, output])
    labels = option(*(("--human",) if "labels" in own else ("--labels", "--human")), metavar="L.jsonl", help=HUMAN_HELP)
    shared["human"] = parameter("human", Annotated[Path | None, labels])
    if judge.writes:
        del shared["human"]
    if isinstance(judge.max_tokens, int):
        shared["max_tokens"] = shared["max_tokens"].replace(default=judge.max_tokens)
    if judge.presets.choices:
        shared["preset"] = shared["preset"].replace(default=judge.presets.default)
    else:
        del shared["preset"], shared["choose"]

    def command(**given: Any) -> None:
        options = {name: given[name] for name in own}
        _judge(judge, options, SharedOptions(**{name: given[name] for name in shared}))

    command.__signature__ = Signature([*own.values(), *shared.values()])  # type: ignore[attr-defined]
    return command


def _judge(judge: Judge[Any, Any], own: dict[str, Any], shared: SharedOptions) -> None:
    """Ask the judge, and write or show what came of it."""
    outputs = Outputs(shared.json)
    inputs = [shared.items] if shared.human is None else [shared.items, shared.human]
    outputs.check(inputs, {f"--{judge.output}": shared.judgements})
    chosen = presets_of(judge).chosen(shared.preset or judge.presets.default, shared.choose)
    shared = replace(shared, top_p=shared.top_p or float(chosen.get(TOP_P.name, 1)))
    filled = {**chosen, "preset": shared.preset, "seed": shared.seed}
    known = {field.name for field in fields(judge.options)}
    items, options = judge.load(
        shared.items, judge.options(**own, **{name: value for name, value in filled.items() if name in known})
    )
    every, items = items, items.sampled(shared.limit, shared.seed)
    people = None
    if shared.human:
        if why := judge.unlabelled(options):
            raise InputError(f"--human needs judgements of one label an item: {why}.", param="human")
        names = [item_name(item.id, judge.styles(item, options)) for item in every.every]
        judged = [item_name(item.id, judge.styles(item, options)) for item in items.every]
        people = labels_for(judged, set(names), shared.human)
    if shared.max_tokens is None:
        longest = judge.max_tokens if isinstance(judge.max_tokens, int) else judge.max_tokens(options)
        shared = replace(shared, max_tokens=longest)

    def estimate(at: JudgeSession) -> dict[str, Any]:
        if judge.again and judge.again.wanted(options):
            note = f"Note: questions that come after a reply ({judge.again.label}) are not in the estimate."
            typer.echo(note, err=True)
        return at.estimate(Questions(judge, items.every, options))

    def report(at: JudgeSession) -> Report:
        _, figures = ask_judge(judge, items, options, shared, at, people)
        return Report(figures, partial(judge_tables, judge))

    ask_model(shared, outputs, partial(_head, judge, options, shared), estimate, report)


def ask_model(
    options: AskingOptions,
    outputs: Outputs,
    head: Callable[[str], Head],
    estimate: Callable[[JudgeSession], dict[str, Any]],
    report: Callable[[JudgeSession], Report],
) -> None:
    """Open the model and its kept replies; write the estimate of a dry run, else ask and write the report. ``head``
    makes the head of the result of the model's identity. Raises as :func:`bench` and :meth:`JudgeSession.ask` do."""
    with bench(options.asking(), Console(stderr=True)) as at:
        headed = head(at.model.identity)
        if options.dry_run:
            write_json(outputs.json or "-", headed.to_json() | estimate(at))
        else:
            outputs.write(headed, report(at))


def ask_judge(
    judge: Judge[ItemT, OptionsT],
    items: Items[ItemT],
    options: OptionsT,
    asked: AskingOptions,
    at: JudgeSession,
    people: PeopleLabels | None = None,
) -> tuple[Judgements[ItemT], dict[str, Any]]:
    """Ask the judge and write each judgement where ``asked`` says; return the judgements and the figures, with rates
    that the labels of ``people`` correct."""
    judgements = run(judge, items, options, at)
    figures = judge.figures(judgements, options)
    if asked.judgements:
        called = f"--{judge.output} {asked.judgements}"
        write_lines(asked.judgements, judge.lines(judgements, options), called=called)
    if people:
        answers = judged_items(judge.lines(judgements, options))
        labels = people.of(item.id for item in answers)  # what failed has no judgement
        figures["corrected"] = corrected_report(answers, labels, CorrectedOptions(seed=asked.seed))
    figures["elicitation"] = dict(judgements.elicitation)
    return judgements, figures


def judge_tables(judge: Judge[Any, Any], result: Json) -> Iterator[Table]:
    """The judge's tables, then the rates as people's labels correct them."""
    yield from judge.tables(result)
    if "corrected" in result:
        yield from corrected_tables(result["corrected"])


def _head(judge: Judge[Any, Any], options: Any, shared: SharedOptions, model: str) -> Head:
    """The command with every option that its result depends on, and the judge's model."""
    own = dict(flag_of(declared, getattr(options, declared.name)) for declared in parameters_of(judge.options))
    choices = [f"{choice.name}={getattr(options, choice.name)}" for choice in judge.presets.choices]
    asked: dict[str, Any] = {"items": shared.items, **own, "preset": shared.preset or None, "choose": choices}
    asked |= {"temperature": shared.temperature, "top_p": None if shared.top_p == 1 else shared.top_p}
    asked |= {"max_tokens": shared.max_tokens, "seed": shared.seed, "limit": shared.limit, "human": shared.human}
    return Head.of("judge", judge.name, judge=model, **asked)
