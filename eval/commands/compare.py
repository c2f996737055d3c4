"""``pearl compare``: draft a history's texts with two retrievers, and let a judge say which drafts are better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from typer import Option

from eval.asking.bench import Asking, JudgeSession
from eval.asking.json_lines import write_lines
from eval.commands.judge.made import DRAWING, HUMAN_HELP, AskingOptions, ask_judge, ask_model, judge_tables
from eval.commands.options import DraftingOptions, PresetName
from eval.commands.writing import WritingPlan, drafts_of, retrieval_systems, writer
from eval.drafts.cases import Case, case_ids, held_back, items_of, sample
from eval.judges import authorship
from eval.judges.authorship import JUDGE, PRESETS, AskAgain, AuthorshipItem, AuthorshipOptions, Prompt
from eval.judges.items import Items
from eval.judges.judge import Questions
from eval.recorded.corrected import ESTIMATES
from eval.recorded.labels import PeopleLabels, labels_for
from eval.report.head import Head
from eval.report.pictures import intervals_figure
from eval.report.report import Outputs, Report
from eval.report.tables import Json
from pearl.cli.options import bundled
from pearl.models.asking.cost import SpendingCap
from pearl.models.asking.kept import Question
from pearl.models.asking.write import WrittenText
from pearl.models.chat.base import Decoding
from pearl.models.chat.choose import engine_and_model
from pearl.text.templates import load_template

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABOUT = """A line of the history is a text of a user, as pearl import jsonl takes it; those with a request can be
held back:

\b
  {"user_id": "ann", "id": "1", "timestamp": 1760000000, "text": "...", "request": "..."}

Everything that was written or judged is kept: repeat an interrupted command and it goes on where it stopped.

@PRESETS""".replace("@PRESETS", f"{PRESETS.help()}\n\n{DRAWING.help()}")
EXAMPLES = """
  pearl compare --history history.jsonl.gz --systems embedded bm25 --llm openai --dry-run
  pearl compare --history history.jsonl.gz --systems embedded bm25 --llm openai --judge gpt-5 --report page.html
  pearl compare --history history.jsonl.gz --systems embedded bm25 --labels labels.jsonl --json -
  pearl compare --history history.jsonl.gz --systems embedded bm25 --preset as_published
"""
RUNS = {"as_published": 3}  # of a preset, where not one


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(AskingOptions, DraftingOptions):
    """Options of ``pearl compare``. If ``judge`` is None, the model that writes also judges."""

    history: Annotated[Path, Option(metavar="H.jsonl.gz", help="History to draft from.")]
    systems: Annotated[tuple[str, str], Option(metavar="P B", help="Two retrievers: artifact folders or names.")]
    judge: Annotated[
        str | None,
        Option(metavar="J", help="Model that judges: as --llm, or a model of the endpoint; the writer by default."),
    ] = None
    targets: Annotated[int, Option(min=1, help="Texts of each user to hold back, the most recent ones.")] = 4
    prompt: Prompt = "post"
    preset: PresetName = PRESETS.default
    runs: Annotated[
        int | None, Option(min=1, help="Runs of the judge over all items; 1 by default, and 3 as published.")
    ] = None
    ask_again: AskAgain = False
    labels: Annotated[Path | None, Option(metavar="L.jsonl", help=HUMAN_HELP)] = None
    drafts: Annotated[
        Path | None, Option(metavar="FILE.jsonl", help="Write the drafts as items for people and judges.")
    ] = None
    report: Annotated[Path | None, Option(metavar="FILE.html", help="Write everything as one page.")] = None

    def asking(self) -> Asking:
        engine, model = engine_and_model(self.judge or self.llm)
        assert self.drawing.max_tokens is not None  # compare() fills it
        decoding = Decoding(self.drawing.max_tokens, self.drawing.temperature, self.drawing.top_p)
        return Asking(engine, decoding, self.max_cost, model)


@bundled
def compare(options: CompareOptions) -> None:
    """Draft texts of a history again with two retrievers, let a judge compare the drafts, and write the win rates."""
    drawing, choose = options.drawing.plus(options.choose)
    assert isinstance(JUDGE.max_tokens, int)
    options = replace(options, drawing=drawing.at_most(JUDGE.max_tokens), choose=choose)
    outputs = Outputs(options.json, page=options.report)
    outputs.check([options.history], {"--drafts": options.drafts, "--judgements": options.judgements})
    with ready(options, Console(stderr=True)) as at:
        head = partial(head_of, options, at.plan)
        ask_model(options, outputs, head, partial(estimate, options, at), partial(win_rates, options, at))


@dataclass(frozen=True, slots=True)
class CompareRun:
    """A prepared comparison. ``cases``: the requests to draft; ``people``: people's labels of some; ``questions``: for
    each system (retriever), a question to the writer per case, None if the request does not fit into the model."""

    plan: WritingPlan
    cases: Sequence[Case]
    people: PeopleLabels | None
    questions: Sequence[Sequence[Question | None]]
    writer: JudgeSession

    @property
    def fitting(self) -> list[Question]:
        return [question for questions in self.questions for question in questions if question]


@contextmanager
def ready(options: CompareOptions, console: Console) -> Iterator[CompareRun]:
    """Prepare a comparison. Raises InputError for options and files that cannot be used."""
    PRESETS.chosen(options.preset, options.choose)  # what is wrong with them shows before drafts are paid for
    plan = WritingPlan.of(options)
    load_template(options.template)
    SpendingCap(plan.settings.prices, options.max_cost)
    every = held_back(options.history, options.targets)
    cases = sample(every, options.limit, options.drawing.seed)
    people = None
    if options.labels:
        people = labels_for(case_ids(cases), {*case_ids(every), *case_ids(cases)}, options.labels)
    systems = retrieval_systems(plan, options.systems, cases, console)
    with writer(plan, options.max_cost, console) as writes:
        questions = [[writes.question(inputs) for inputs in plan.all_inputs(cases, system)] for system in systems]
        yield CompareRun(plan, cases, people, questions, writes.bench)


def estimate(options: CompareOptions, at: CompareRun, judging: JudgeSession) -> dict[str, Any]:
    """Upper bounds on calls and cost, for drafting and judging. A missing draft is taken to be as long as allowed."""
    replies = at.writer.kept(at.fitting)
    written = [drafts_of(questions, replies) for questions in at.questions]
    count, longest = at.writer.model.count_tokens, at.plan.longest
    words = math.ceil(longest * 100 / count("word " * 100)) * "word "
    stand_in = [
        [
            WrittenText(f"{words}{name}{place}") if draft.failure == "not_asked" else draft
            for place, draft in enumerate(drafts)
        ]
        for name, drafts in zip(options.systems, written, strict=True)
    ]
    items, judge_options = items_and_options(options, at, stand_in, None)
    parts = {
        "drafts": at.writer.estimate(at.fitting)["estimate"],
        "judgements": judging.estimate(Questions(JUDGE, items.every, judge_options))["estimate"],
    }
    costs = [part["cost_at_most"] for part in parts.values()]
    return {
        "cases": len(at.cases),
        "estimate": parts,
        "calls": sum(part["calls"] for part in parts.values()),
        "cost_at_most": None if None in costs else round(sum(costs), 6),
    }


def win_rates(options: CompareOptions, at: CompareRun, judging: JudgeSession) -> Report:
    """Make the missing drafts and judgements, and report win rates. Raises PearlError when the cost reaches the cap;
    replies until then are kept."""
    asked = at.writer.ask("drafts", at.fitting)
    replies = asked.replies()
    written = [drafts_of(questions, replies) for questions in at.questions]
    items, judge_options = items_and_options(options, at, written, options.drafts)
    _, rates = ask_judge(JUDGE, items, judge_options, options, judging.after(asked, None), at.people)
    elicitation = {"drafts": asked.to_json(), "judgements": rates["elicitation"]}
    figures = {"writer": at.plan.writer, "cases": len(at.cases), **rates, "elicitation": elicitation}
    first, second = options.systems
    return Report(figures, partial(judge_tables, JUDGE), f"{first} against {second}", rates_figure)


def items_and_options(
    options: CompareOptions, at: CompareRun, written: Sequence[Sequence[WrittenText]], drafts: Path | None
) -> tuple[Items[AuthorshipItem], AuthorshipOptions]:
    """Make items for the authorship judge from the drafts, and the judge's options. ``drafts``: where to write the
    items."""
    own = {name: getattr(options, name) for name in ("preset", "systems", "prompt", "ask_again")}
    own |= {"seed": options.drawing.seed}
    own |= PRESETS.chosen(options.preset, options.choose)
    judge_options = AuthorshipOptions(**own, runs=runs_of(options))
    with TemporaryDirectory() as folder:
        path = drafts or Path(folder) / "drafts.jsonl"
        lines = items_of(at.cases, options.systems, written, at.writer.model.name)
        write_lines(path, lines, called=f"--drafts {path}")
        return authorship.load(path, judge_options)


def runs_of(options: CompareOptions) -> int:
    """Number of times the judge is asked about every item: the given number, or else the preset's."""
    return options.runs or RUNS.get(options.preset, 1)


def head_of(options: CompareOptions, plan: WritingPlan, judge: str) -> Head:
    asked: dict[str, Any] = {"history": options.history, "systems": options.systems, "llm": plan.settings.llm}
    asked |= {"--judge": options.judge, "targets": options.targets, "limit": options.limit}
    asked |= {"template": options.template, "k": options.k, "prompt": options.prompt}
    chosen = PRESETS.chosen(options.preset, options.choose)
    choose = [*(f"{name}={value}" for name, value in chosen.items()), *options.drawing.words()]
    asked |= {"preset": options.preset, "choose": choose, "runs": runs_of(options), "ask_again": options.ask_again}
    asked |= {"labels": options.labels}
    return Head.of("compare", judge=judge, settings=plan.settings, **asked)


def rates_figure(result: Json) -> Figure:
    """Draw the shares of wins and ties: over all judgements, where both orders agree, and corrected by people's
    labels."""
    names = {**result["systems"], "tie": "tie"}
    ways = {"every judgement": "rates", "both orders agree": "rates_orders_must_agree"}
    rows: dict[str, dict[str, Json | None]] = {
        title: {way: result[name][outcome] for way, name in ways.items()} for outcome, title in names.items()
    }
    for row in result["corrected"]["rates"] if "corrected" in result else ():
        rows[names[row["label"]]] |= {ESTIMATES[way]: row[way] for way in ("corrected", "prediction_powered")}
    return intervals_figure(rows, "share of the judgements")
