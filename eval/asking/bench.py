"""A session with a judge model and its store of kept replies: only questions without a kept reply are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rich.console import Console

from eval.asking.verdict import Failed
from pearl.errors import InputError
from pearl.models.asking.ask import AskedModel, AskingOutcome, CallLimits, ask_all, replies, survey
from pearl.models.asking.cost import CallEstimate, SpendingCap
from pearl.models.asking.kept import Question, ReplyStore, open_replies
from pearl.models.asking.patience import asking
from pearl.models.chat.base import Decoding, Reply
from pearl.models.chat.choose import calls_at_once, local_names, make_chat_model
from pearl.models.runtime.progress import watched
from pearl.settings import Settings, load_settings


@dataclass(frozen=True, slots=True)
class Asking:
    """Settings for asking a judge model: model, decoding, spending cap, and the file that keeps replies."""

    llm: str | None
    decoding: Decoding
    max_cost: float | None = None
    model: str | None = None  # another one of the endpoint
    replies: str = "judge-replies.sqlite"  # file in PEARL_HOME
    refuse_empty: bool = False


@dataclass(frozen=True, slots=True)
class AskedRound:
    """The outcome of asking a set of questions; ``replies()`` iterates over all replies from the start."""

    survey: CallEstimate
    asked: AskingOutcome
    replies: Callable[[], Iterator[Reply | Failed]]

    def to_json(self) -> dict[str, Any]:
        return {"questions": self.survey.questions, "kept_before": self.survey.kept} | self.asked.to_json()

    def left_of(self, limits: CallLimits) -> CallLimits:
        """Return the limits with the spending cap lowered by what this round cost."""
        return limits if limits.cap is None else replace(limits, cap=max(limits.cap - (self.asked.cost or 0.0), 0.0))


@dataclass(frozen=True, slots=True)
class JudgeSession:
    """An open judge model with its store of kept replies; :func:`bench` opens a session."""

    limits: CallLimits
    model: AskedModel
    store: ReplyStore
    console: Console
    runner: asyncio.Runner

    def estimate(self, questions: Iterable[Question]) -> dict[str, Any]:
        """Estimate how many calls, tokens and how much money asking the questions takes at most."""
        return {"estimate": survey(self.model, questions, self.store).to_json(self.limits.prices)}

    def kept(self, questions: Iterable[Question]) -> Iterator[Reply | Failed]:
        """Yield the kept reply of each question, or Failed if none is kept, without calling the model."""
        return replies(self.model, questions, self.store, AskingOutcome())

    def after(self, before: AskedRound, decoding: Decoding | None) -> JudgeSession:
        """Return a session whose spending cap is lowered by the cost of ``before``, with ``decoding`` if given."""
        model = replace(self.model, decoding=decoding or self.model.decoding)
        return replace(self, limits=before.left_of(self.limits), model=model)

    def ask(self, label: str, questions: Iterable[Question]) -> AskedRound:
        """Ask the model every question that has no kept reply. The outcome has the replies to all questions."""
        surveyed, asked = survey(self.model, questions, self.store), AskingOutcome()
        if surveyed.missing:
            with watched(self.console) as watch:
                watching = watch(label, surveyed.missing)
                asked = self.runner.run(ask_all(self.model, questions, self.store, self.limits, watching))
        return AskedRound(surveyed, asked, partial(replies, self.model, questions, self.store, asked))


@contextmanager
def bench(options: Asking, console: Console) -> Iterator[JudgeSession]:
    """Open a session with a judge model. Raises InputError for settings and files that cannot be used."""
    # a failed call is repeated by pearl.models.asking.patience, for all calls together
    settings = load_settings(llm=options.llm, llm_model=options.model, llm_max_retries=0, on_cluster=True)
    SpendingCap(settings.prices, options.max_cost)  # a cap without prices is an error before anything is loaded
    name, identity = names_of(settings)
    in_flight = settings.max_in_flight
    model = make_chat_model(settings, in_flight=in_flight)
    if settings.cluster:
        in_flight = calls_at_once(settings, in_flight)
    limits = CallLimits(in_flight, settings.prices, options.max_cost, refuse_empty=options.refuse_empty)
    judge_model = AskedModel(asking(model), identity, options.decoding, model.count_tokens, name)
    with asyncio.Runner() as runner, open_replies(settings.home / options.replies) as store:
        try:
            yield JudgeSession(limits, judge_model, store, console, runner)
        finally:
            runner.run(model.close())


def names_of(settings: Settings) -> tuple[str, str]:
    """Return the model's name, and the identity under which its replies are kept."""
    if not settings.uses_endpoint:
        return local_names(settings)
    if not settings.llm_model:
        raise InputError("PEARL_LLM_MODEL is not set: name the endpoint's model.")
    return settings.llm_model, settings.llm_model
