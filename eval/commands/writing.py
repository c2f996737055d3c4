"""The part that ``pearl eval generation``, ``revision`` and ``shown`` share: cases, retrieved documents, drafting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from rich.console import Console

from eval.asking.bench import Asking, Bench
from eval.commands.options import WritingOptions
from eval.commands.scored import check_named_once
from eval.drafts.held_back import held_back
from eval.drafts.systems import BASELINE, MODEL, Case, System, cases, retrieved, sample, without_near_duplicates
from eval.report.head import Head
from eval.report.report import Report, Tables
from eval.retrieval.gains import read_gains
from eval.retrieval.overlap import THRESHOLD
from eval.retrieval.scoring import RememberingEncoder
from pearl.asking.ask import AskedModel
from pearl.asking.cost import Purse
from pearl.asking.kept import Question, ReplyStore, open_replies
from pearl.asking.patience import Failed, asking
from pearl.asking.progress import watched
from pearl.asking.write import Desk, Written, draft_of, prompt_or_none
from pearl.budget import Budget
from pearl.chat.base import ChatModel, Decoding, Reply
from pearl.chat.choose import calls_at_once, make_chat_model, writer_of
from pearl.errors import ContextExceeded, InputError
from pearl.marks import CLOSING
from pearl.prompts import Brief, draft_prompt
from pearl.settings import Settings, load_settings
from pearl.templates import load_template
from retriever.models.bertscore import BertScore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of a run, and the settings that they leave open. ``baselines`` are artifacts that count as such."""

    options: WritingOptions
    settings: Settings
    baselines: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: WritingOptions, baselines: Sequence[str] = ()) -> Plan:
        """Raises InputError for settings that cannot be used."""
        # pearl.asking.patience repeats calls
        settings = load_settings(llm=options.llm, encoder=options.encoder, llm_max_retries=0)
        return cls(options, settings, tuple(baselines))

    @property
    def near_duplicates(self) -> float | None:
        """The share of the target's trigrams from which on a document is set aside; None when all stay."""
        share = self.options.near_duplicates
        return THRESHOLD if share is None and self.options.without_near_duplicates else share

    @property
    def shown(self) -> int:
        return self.options.k or load_template(self.options.template).k

    @property
    def longest(self) -> int:
        return self.options.max_tokens or self.settings.max_draft_tokens

    @property
    def writer(self) -> str:
        """Identity of all that the answers depend on: the model, and our rules if it is the embedded one."""
        return writer_of(self.settings)

    def briefs(self, found: Sequence[Case], system: System) -> list[Brief]:
        """The brief of each case: the request, with the documents that the system shows."""
        template = load_template(self.options.template)
        return [
            Brief(template, case.record.request.text, shown.documents)
            for case, shown in zip(found, system.shown, strict=True)
        ]

    def head(self, name: str, **own: Any) -> Head:
        """The command that makes a result; ``own`` are the options of this command alone."""
        options, told = self.options, {"llm": self.settings.llm, "max_tokens": self.longest}
        asked: dict[str, Any] = {"gains": options.gains, "history": options.history, "split": options.split}
        asked |= {"targets": options.targets if options.history else None}
        asked |= {"model": options.model, "baseline": list(self.baselines)}
        asked |= {"template": options.template, "k": options.k, **told, "limit": options.limit, "seed": options.seed}
        asked |= {"near_duplicates": self.near_duplicates, "encoder": self.settings.encoder}
        asked |= {"bertscore": options.bertscore, "budget_minutes": options.budget_minutes, **own}
        aside = self.near_duplicates is not None
        rules = None if options.told_stances() in (None, "corrected") else options.stance_rules
        asked |= {"stances": options.stances, "stance_rules": rules, "without_near_duplicates": aside}
        return Head.of("eval", name, **asked)

    def to_json(self) -> dict[str, Any]:
        """The values of its defaults."""
        return {"llm": self.writer, "k": self.shown, "max_tokens": self.longest}


@dataclass(frozen=True, slots=True)
class Material:
    """The cases to draft: ``cases`` are a sample of ``everyone``; ``counts`` say what is left out."""

    cases: tuple[Case, ...]
    everyone: tuple[Case, ...]
    counts: dict[str, Any]


def read_material(plan: Plan) -> Material:
    """Raises InputError for files without a target, and for a template that is not there."""
    options = plan.options
    load_template(options.template)
    if bool(options.gains) == bool(options.history):
        raise InputError("Give either --gains or --history.", param="history" if options.gains else "gains")
    files = ", ".join(map(str, (*options.gains, *options.history)))
    if options.history:
        everyone = [case for path in options.history for case in held_back(path, options.targets, options.split)]
        counts: dict[str, Any] = {"records": len(everyone)}
    elif options.split is not None:
        raise InputError("--split chooses among the users of --history; leave it out.", param="split")
    else:
        records = [record for path in options.gains for record in read_gains(path)]
        everyone, counts = cases(records), {"records": len(records)}
    if not everyone:
        raise InputError(f"{files}: target: no record has one to compare a draft with.", param="target")
    counts["records_with_target"] = len(everyone)
    chosen = sample(everyone, options.limit, options.seed)
    if plan.near_duplicates is None:
        return Material(tuple(chosen), tuple(everyone), counts)
    left = without_near_duplicates(chosen, plan.near_duplicates)
    if not left:
        raise InputError(f"{files}: documents: each nearly is its target, so none is left to show.", param="documents")
    counts["near_duplicates"] = {
        "threshold": plan.near_duplicates,
        "documents_set_aside": _documents(chosen) - _documents(left),
        "records_left_without_documents": len(chosen) - len(left),
    }
    return Material(tuple(left), tuple(everyone), counts)


def _documents(found: Sequence[Case]) -> int:
    return sum(len(case.record.documents) for case in found)


def retrieval_systems(plan: Plan, found: Sequence[Case], console: Console) -> list[System]:
    """The documents that each model retrieves. Raises NotFound and InputError for a model that cannot be used."""
    from retriever.baselines.random_order import RandomRetriever
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import UNTRAINED, make_retriever

    names = (*plan.options.model, *plan.baselines)
    check_named_once(names)
    encoder = RememberingEncoder(SentenceEncoder(plan.settings.encoder))
    retrievers = {
        name: RandomRetriever(plan.options.seed) if name == RandomRetriever.name else make_retriever(name, encoder)
        for name in names
    }
    systems = []
    for name, retriever in retrievers.items():
        kind = BASELINE if name in UNTRAINED or name in plan.baselines else MODEL
        exactly = plan.options.k is not None
        with console.status(f"Ranking with {name}..."):
            systems.append(retrieved(name, retriever, found, plan.shown, kind=kind, so_many=exactly))
    return systems


def kept_answers(plan: Plan) -> AbstractContextManager[ReplyStore]:
    """The file of answers. Raises InputError where it cannot be used."""
    return open_replies(plan.options.generations or plan.settings.home / "generations.sqlite", "generations")


def write(plan: Plan, kept: ReplyStore, model: ChatModel, console: Console, work: Callable[[Desk], Awaitable[T]]) -> T:
    """The result of ``work``; the plan's budget begins with it, and the model is closed after it."""

    async def run(desk: Desk) -> T:
        try:
            return await work(desk)
        finally:
            await model.close()

    with watched(console) as watch:
        decoding = Decoding(plan.longest, stop=(CLOSING,))
        in_flight = calls_at_once(plan.settings, plan.options.max_in_flight)
        budget = Budget(plan.options.budget_minutes)  # from now on: what was done before is no writing
        return asyncio.run(run(Desk(model, plan.writer, decoding, kept, watch, budget, in_flight)))


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that drafts, asked as a judge is: with an estimate, a cap and kept answers; open it with
    :func:`writer`."""

    bench: Bench
    model: ChatModel
    longest: int

    def question(self, brief: Brief) -> Question | None:
        """The question for a draft; None where the request by itself does not fit the model."""
        prompt = prompt_or_none(partial(draft_prompt, brief, self.model, self.longest))
        return Question(prompt.messages) if prompt else None


@contextmanager
def writer(plan: Plan, terms: Asking, console: Console) -> Iterator[Writer]:
    """Raises InputError for settings and files that cannot be used."""
    Purse(terms.prices, terms.cap)  # a cap without prices is an error before anything is loaded
    model = make_chat_model(plan.settings, in_flight=terms.in_flight)
    decoding = Decoding(plan.longest, stop=(CLOSING,))
    terms = replace(terms, in_flight=calls_at_once(plan.settings, terms.in_flight), refuse_empty=True)
    asked = AskedModel(asking(model), plan.writer, decoding, model.count_tokens, model.name)
    with asyncio.Runner() as runner, kept_answers(plan) as kept:
        try:
            yield Writer(Bench(terms, asked, kept, console, runner), model, plan.longest)
        finally:
            runner.run(model.close())


def drafts_of(questions: Sequence[Question | None], replies: Iterator[Reply | Failed]) -> list[Written]:
    """The draft of each question; one that does not fit the model failed."""
    return [draft_of(next(replies) if question else Failed(ContextExceeded.default_code)) for question in questions]


@dataclass(frozen=True, slots=True)
class Room:
    """A run in which everything is ready to write; open it with :func:`ready`. ``systems`` are the plan's models."""

    plan: Plan
    console: Console
    scorer: BertScore
    material: Material
    model: ChatModel
    kept: ReplyStore
    systems: list[System]

    def write(self, work: Callable[[Desk], Awaitable[T]]) -> T:
        return write(self.plan, self.kept, self.model, self.console, work)

    def report(self, name: str, found: dict[str, Any], tables: Tables, **options: Any) -> Report:
        """The figures, headed by the command that made them; ``options`` are the command's own."""
        figures = {**self.plan.to_json(), "bertscore": self.scorer.description, **self.material.counts, **found}
        return Report(self.plan.head(name, **options), figures, tables)


@contextmanager
def ready(plan: Plan) -> Iterator[Room]:
    """A room whose file of answers stays open. Whatever its parts raise is raised before anything is written."""
    console, scorer = Console(stderr=True), BertScore(plan.options.bertscore)
    material = read_material(plan)
    with kept_answers(plan) as kept:
        # what is wrong with a model shows now, not after the work
        model = make_chat_model(plan.settings, in_flight=plan.options.max_in_flight)
        scorer.check()
        systems = retrieval_systems(plan, material.cases, console)
        yield Room(plan, console, scorer, material, model, kept, systems)
