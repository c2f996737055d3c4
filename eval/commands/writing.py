"""Drafting for ``pearl compare`` and ``pearl eval`` commands: reading requests, retrieving, and drafting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rich.console import Console

from eval.asking.bench import JudgeSession
from eval.commands.options import DraftingOptions, WritingOptions
from eval.commands.scored import check_named_once
from eval.drafts.cases import Case, cases_of, held_back, sample, without_near_duplicates
from eval.drafts.systems import BASELINE, MODEL, System, retrieved
from eval.report.head import Head
from eval.report.report import Report, Tables
from eval.retrieval.gains import read_gains
from eval.retrieval.scoring import RememberingEncoder
from pearl.clock import Budget
from pearl.errors import ContextExceeded, InputError
from pearl.models.asking.ask import AskedModel, CallLimits
from pearl.models.asking.cost import SpendingCap
from pearl.models.asking.kept import Question, open_replies
from pearl.models.asking.patience import Failed, asking
from pearl.models.asking.write import WritingContext, WrittenText, draft_of, prompt_or_none
from pearl.models.chat.base import ChatModel, Decoding, Reply
from pearl.models.chat.choose import calls_at_once, make_chat_model, writer_of
from pearl.models.prompts import PromptBuilder, PromptInputs, draft_prompt
from pearl.models.runtime.progress import watched
from pearl.settings import Settings, load_settings
from pearl.text.answers.marks import CLOSING
from pearl.text.templates import load_template
from retriever.models.bertscore import BertScore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """A run's options for drafting, with the settings for what the options leave open."""

    options: DraftingOptions
    settings: Settings

    @classmethod
    def of(cls, options: DraftingOptions) -> WritingPlan:
        """Load the settings of a run. Raises InputError for settings that cannot be used."""
        # pearl.models.asking.patience repeats calls
        return cls(options, load_settings(llm=options.llm, llm_max_retries=0, on_cluster=True))

    @property
    def shown(self) -> int:
        return self.options.k or load_template(self.options.template).k

    @property
    def longest(self) -> int:
        return self.settings.max_draft_tokens

    @property
    def writer(self) -> str:
        """The identity under which drafts are kept: the model and, for the embedded model, PEARL's rules."""
        return writer_of(self.settings)

    @property
    def decoding(self) -> Decoding:
        return Decoding(self.longest, stop=(CLOSING,))

    def all_inputs(self, cases: Sequence[Case], system: System) -> list[PromptInputs]:
        """The input of each case's prompt: its request and the documents that the system shows."""
        template = load_template(self.options.template)
        return [
            PromptInputs(template, case.record.request.text, shown.documents)
            for case, shown in zip(cases, system.shown, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class WritingMaterial:
    """All cases (requests with documents and target) of the files, and the sample to draft."""

    cases: tuple[Case, ...]  # to draft, a sample of everyone
    everyone: tuple[Case, ...]
    counts: dict[str, Any]  # of records, and of what is left out


def read_material(options: WritingOptions) -> WritingMaterial:
    """Read the cases of a run. Raises InputError if no record has a target, and for an unknown template."""
    load_template(options.template)
    if bool(options.gains) == bool(options.history):
        raise InputError("Give either --gains or --history.")
    files = ", ".join(map(str, (*options.gains, *options.history)))
    if options.history:
        everyone = [case for path in options.history for case in held_back(path, options.targets, options.split)]
        counts: dict[str, Any] = {"records": len(everyone)}
    elif options.split is not None:
        raise InputError("--split chooses among the users of --history; leave it out.")
    else:
        records = [record for path in options.gains for record in read_gains(path)]
        everyone, counts = cases_of(records), {"records": len(records)}
    if not everyone:
        raise InputError(f"{files}: target: no record has one to compare a draft with.")
    counts["records_with_target"] = len(everyone)
    chosen = sample(everyone, options.limit)
    if options.near_duplicates is None:
        return WritingMaterial(tuple(chosen), tuple(everyone), counts)
    left = without_near_duplicates(chosen, options.near_duplicates)
    if not left:
        raise InputError(f"{files}: documents: each nearly is its target, so none is left to show.")
    before, after = (sum(len(case.record.documents) for case in cases) for cases in (chosen, left))
    counts["near_duplicates"] = {
        "threshold": options.near_duplicates,
        "documents_set_aside": before - after,
        "records_left_without_documents": len(chosen) - len(left),
    }
    return WritingMaterial(tuple(left), tuple(everyone), counts)


def retrieval_systems(
    plan: WritingPlan, models: Sequence[str], cases: Sequence[Case], console: Console, baselines: Sequence[str] = ()
) -> list[System]:
    """Retrieve documents for all cases with each model. ``baselines``: models that count as baselines. Raises NotFound
    and InputError for a model that cannot be used."""
    from retriever.baselines.trivial import RandomRetriever
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import UNTRAINED, make_retriever

    names = (*models, *baselines)
    check_named_once(names)
    encoder = RememberingEncoder(SentenceEncoder(plan.settings.encoder))
    retrievers = {
        name: RandomRetriever() if name == RandomRetriever.name else make_retriever(name, encoder) for name in names
    }
    systems, exactly = [], plan.options.k is not None
    for name, retriever in retrievers.items():
        kind = BASELINE if name in UNTRAINED or name in baselines else MODEL
        with console.status(f"Ranking with {name}..."):
            systems.append(retrieved(name, retriever, cases, plan.shown, kind=kind, exactly=exactly))
    return systems


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that drafts. It is asked like a judge, with an estimate, a cost cap and kept replies; see
    :func:`writer`."""

    bench: JudgeSession
    model: ChatModel
    longest: int

    def question(self, inputs: PromptInputs, build: PromptBuilder = draft_prompt) -> Question | None:
        """The question for a draft; None if the request alone does not fit into the model."""
        prompt = prompt_or_none(partial(build, inputs, self.model, self.longest))
        return Question(prompt.messages) if prompt else None


@contextmanager
def writer(plan: WritingPlan, cap: float | None, console: Console) -> Iterator[Writer]:
    """Open the model that drafts. Raises InputError for settings and files that cannot be used."""
    settings = plan.settings
    SpendingCap(settings.prices, cap)  # a cap without prices is an error before anything is loaded
    model = make_chat_model(settings, in_flight=settings.max_in_flight)
    limits = CallLimits(calls_at_once(settings, settings.max_in_flight), settings.prices, cap, refuse_empty=True)
    chat_model = AskedModel(asking(model), plan.writer, plan.decoding, model.count_tokens, model.name)
    with asyncio.Runner() as runner, open_replies(settings.home / "generations.sqlite") as store:
        try:
            yield Writer(JudgeSession(limits, chat_model, store, console, runner), model, plan.longest)
        finally:
            runner.run(model.close())


def drafts_of(questions: Sequence[Question | None], replies: Iterator[Reply | Failed]) -> list[WrittenText]:
    """The draft of each question. A question of None (the request did not fit into the model) gives a failure."""
    return [draft_of(next(replies) if question else Failed(ContextExceeded.default_code)) for question in questions]


@dataclass(frozen=True, slots=True)
class WritingSession:
    """A prepared run: documents are retrieved and the model is open. Made by :func:`ready`."""

    options: WritingOptions
    baselines: Sequence[str]
    plan: WritingPlan
    console: Console
    scorer: BertScore
    material: WritingMaterial
    systems: list[System]  # the models that the options name, then the baselines
    writes: Writer

    def write(self, work: Callable[[WritingContext], Coroutine[Any, Any, T]]) -> T:
        """Run ``work`` and return its result. The time budget starts now."""
        plan, bench = self.plan, self.writes.bench
        with watched(self.console) as watch:
            budget = Budget(self.options.budget_minutes)  # from now on: what was done before is no writing
            model, limits = self.writes.model, bench.limits
            spending = None if limits.cap is None else SpendingCap(limits.prices, limits.cap)
            context = WritingContext(
                model, plan.writer, plan.decoding, bench.store, watch, budget, limits.in_flight, spending
            )
            return bench.runner.run(work(context))

    def head(self, name: str, **own_options: Any) -> Head:
        """The head of a result: the command with its options. ``own_options``: options that only this command has."""
        options, settings = self.options, self.plan.settings
        given: dict[str, Any] = {"gains": options.gains, "history": options.history, "split": options.split}
        given |= {"targets": options.targets if options.history else None}
        given |= {"model": options.model, "baseline": list(self.baselines)}
        given |= {"template": options.template, "k": options.k, "llm": settings.llm}
        given |= {"limit": options.limit, "near_duplicates": options.near_duplicates}
        given |= {"budget_minutes": options.budget_minutes, **own_options, "stances": options.stances}
        return Head.of("eval", name, settings=settings, **given)

    def report(self, head: Head, figures: dict[str, Any], tables: Tables) -> Report:
        """Make a report of ``figures``, preceded by the values of defaults and the counts of the material."""
        defaults: dict[str, Any] = {"llm": self.plan.writer, "k": self.plan.shown, "max_tokens": self.plan.longest}
        defaults |= {"bertscore": self.scorer.description, **self.material.counts}
        return Report({**defaults, **figures}, tables, head=head)


@contextmanager
def ready(
    options: WritingOptions,
    baselines: Sequence[str] = (),
    material: WritingMaterial | None = None,
    cap: float | None = None,
) -> Iterator[WritingSession]:
    """Open a session: read the cases (or take ``material``), retrieve documents and open the model. Errors are raised
    before anything is drafted."""
    plan, console = WritingPlan.of(options), Console(stderr=True)
    scorer = BertScore(plan.settings.encoder)
    material = material or read_material(options)
    with writer(plan, cap, console) as writes:  # what is wrong with a model shows now, not after the work
        scorer.check()
        systems = retrieval_systems(plan, options.model, material.cases, console, baselines)
        yield WritingSession(options, baselines, plan, console, scorer, material, systems, writes)
