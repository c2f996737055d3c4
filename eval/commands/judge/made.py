"""Making a command from each judge's declaration: its flags from the judge's options, its choices from the presets."""

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
from eval.asking.choices import Drawing
from eval.asking.json_lines import write_lines
from eval.commands.options import DryRun, Llm, MaxCost, Overrides, PresetName, option
from eval.commands.reporting import flag_of
from eval.judges.items import Items
from eval.judges.judge import ItemT, Judge, Judgements, OptionsT, Questions, run
from eval.recorded.corrected import CorrectedOptions, corrected_report, corrected_tables
from eval.recorded.labels import PeopleLabels, item_name, judged_items, labels_for
from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Json, Table
from pearl.cli.commands import PathCommand, epilog
from pearl.cli.options import JSON_OPTION, parameter, parameters_of, write_json
from pearl.errors import InputError
from pearl.models.chat.base import Decoding

HUMAN_HELP = "People's labels of some items; correct the rates by them, as pearl eval corrected does."
DRAWING = Drawing(temperature=0.7)


@dataclass(frozen=True, kw_only=True)  # without slots, which a class inherits from one base only
class AskingOptions:
    """The options of every command that asks a judge."""

    preset: PresetName = ""
    choose: Overrides = None
    max_cost: MaxCost = None
    dry_run: DryRun = False
    judgements: Annotated[Path | None, option(metavar="FILE.jsonl", help="Write each judgement on a line.")] = None
    json: Annotated[str | None, option(metavar="FILE", help=JSON_OPTION.help)] = None

    drawing: Drawing = DRAWING  # read from ``choose``

    def asking(self) -> Asking:
        """The settings for asking the model."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions(AskingOptions):
    """The options of a command that asks about a file of items."""

    items: Annotated[Path, option(metavar="ITEMS.jsonl", help="Items, see below.")]
    llm: Llm = None
    limit: Annotated[int | None, option(min=1, help="Take a random sample of this many items.")] = None
    human: Path | None = None  # --labels is another option of some judge

    def asking(self) -> Asking:
        drawing = self.drawing
        assert drawing.max_tokens is not None
        return Asking(self.llm, Decoding(drawing.max_tokens, drawing.temperature, drawing.top_p), self.max_cost)


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
    ends = epilog(examples, judge.about_items, judge.presets.help(), DRAWING.help())
    app.command(judge.name, help=judge.summary, epilog=ends, cls=GroupedCommand)(command_of(judge))


def command_of(judge: Judge[Any, Any]) -> Callable[..., None]:
    """Make the judge's command function. Its parameters are the judge's own options, then the options of all judges."""
    own = {declared.name: declared for declared in parameters_of(judge.options)}
    shared = {declared.name: declared for declared in parameters_of(SharedOptions)}
    output = option(f"--{judge.output}", metavar="FILE.jsonl", help=judge.output_help)
    shared["judgements"] = parameter("judgements", Annotated[Path | None, output])
    labels = option(*(("--human",) if "labels" in own else ("--labels", "--human")), metavar="L.jsonl", help=HUMAN_HELP)
    shared["human"] = parameter("human", Annotated[Path | None, labels])
    if judge.writes:
        del shared["human"]
    if judge.presets.choices:
        shared["preset"] = shared["preset"].replace(default=judge.presets.default)
    else:
        del shared["preset"]

    def command(**given: Any) -> None:
        options = {name: given[name] for name in own}
        _judge(judge, options, SharedOptions(**{name: given[name] for name in shared}))

    command.__signature__ = Signature([*own.values(), *shared.values()])  # type: ignore[attr-defined]
    return command


def _judge(judge: Judge[Any, Any], own: dict[str, Any], shared: SharedOptions) -> None:
    """Ask the judge, and write or show the result."""
    outputs = Outputs(shared.json)
    inputs = [shared.items] if shared.human is None else [shared.items, shared.human]
    outputs.check(inputs, {f"--{judge.output}": shared.judgements})
    drawing, choose = shared.drawing.plus(shared.choose)
    chosen = judge.presets.chosen(shared.preset or judge.presets.default, choose)
    filled = {**chosen, "preset": shared.preset, "seed": drawing.seed}
    known = {field.name for field in fields(judge.options)}
    items, options = judge.load(
        shared.items, judge.options(**own, **{name: value for name, value in filled.items() if name in known})
    )
    every, items = items, items.sampled(shared.limit, drawing.seed)
    people = None
    if shared.human:
        if why := judge.unlabelled(options):
            raise InputError(f"--human needs judgements of one label an item: {why}.")
        names = [item_name(item.id, judge.styles(item, options)) for item in every.every]
        judged = [item_name(item.id, judge.styles(item, options)) for item in items.every]
        people = labels_for(judged, set(names), shared.human)
    longest = judge.max_tokens if isinstance(judge.max_tokens, int) else judge.max_tokens(options)
    shared = replace(shared, drawing=drawing.at_most(longest))

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
    """Open the model with its kept replies; then write an estimate (a dry run), or ask and write the report. ``head``
    makes the result's head from the model's identity. Raises as :func:`bench` and :meth:`JudgeSession.ask` do."""
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
    """Ask the judge about the items, and return the judgements and figures. Judgements are written to the file that
    ``asked`` names; with ``people``, the figures have rates corrected by these labels."""
    judgements = run(judge, items, options, at)
    figures = judge.figures(judgements, options)
    if asked.judgements:
        called = f"--{judge.output} {asked.judgements}"
        write_lines(asked.judgements, judge.lines(judgements, options), called=called)
    if people:
        answers = judged_items(judge.lines(judgements, options))
        labels = people.of(item.id for item in answers)  # what failed has no judgement
        figures["corrected"] = corrected_report(answers, labels, CorrectedOptions(seed=asked.drawing.seed))
    figures["elicitation"] = dict(judgements.elicitation)
    return judgements, figures


def judge_tables(judge: Judge[Any, Any], result: Json) -> Iterator[Table]:
    """The judge's tables, then tables of its rates corrected by people's labels, if there are any."""
    yield from judge.tables(result)
    if "corrected" in result:
        yield from corrected_tables(result["corrected"])


def _head(judge: Judge[Any, Any], options: Any, shared: SharedOptions, model: str) -> Head:
    """The head of the result: the command with every option that changes the result, and the judge's model."""
    own = dict(flag_of(declared, getattr(options, declared.name)) for declared in parameters_of(judge.options))
    choices = [f"{choice.name}={getattr(options, choice.name)}" for choice in judge.presets.choices]
    asked: dict[str, Any] = {"items": shared.items, **own, "preset": shared.preset or None}
    asked |= {"choose": [*choices, *shared.drawing.words()], "limit": shared.limit, "human": shared.human}
    return Head.of("judge", judge.name, judge=model, **asked)
