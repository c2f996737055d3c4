"""Asking a model many questions, several at once. Each reply is stored as it comes, and is not asked for again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pearl.errors import PearlError
from pearl.models.asking.cost import NO_PRICES, NO_USAGE, CallEstimate, SpendingCap
from pearl.models.asking.kept import Question, ReplyStore, key_of
from pearl.models.asking.patience import OUT_OF_TIME, UNREPORTED, Ask, Failed, Patience, ProgressReporter, asking
from pearl.models.chat.base import ChatModel, Decoding, Message, Reply
from pearl.models.prompts import MESSAGE_OVERHEAD
from pearl.records import Prices, Usage
from pearl.text.usable import storable

EMPTY_ANSWER = "empty_answer"
COMMIT_S = 0.002  # a reply waits at most this long for its commit; a kill can lose those that wait


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A model that judges or writes: the function that calls it, its identity, decoding and token counter."""

    ask: Ask
    identity: str  # in the keys of its replies: the model, and its rules where they are ours
    decoding: Decoding
    count_tokens: Callable[[str], int]
    name: str = ""  # what others call it

    def key(self, question: Question) -> bytes:
        return key_of(self.identity, self.decoding, question)

    def most(self, question: Question) -> Usage:
        """Return the most tokens that the prompt and the answer of a call may use."""
        prompt = sum(self.count_tokens(message.content) + MESSAGE_OVERHEAD for message in question.messages)
        return Usage(prompt, self.decoding.max_tokens)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The limits of a run of questions: calls at once, cost, and time."""

    in_flight: int = 8  # calls under way at once
    prices: Prices = NO_PRICES
    cap: float | None = None  # on the cost
    spending: SpendingCap | None = None  # in place of prices and cap: what other runs spent counts, too
    go_on: Callable[[], bool] = lambda: True  # nothing is asked once it returns False
    refuse_empty: bool = False  # an empty reply fails, so that the next run asks again


@dataclass(slots=True)
class AskingOutcome:
    """The result of a run of questions: calls, tokens, cost, and the failed questions. The replies are in the store."""

    calls: int = 0
    repeated: int = 0
    usage: Usage = NO_USAGE  # of this run's calls
    cost: float | None = None
    seconds: float = 0.0
    failed: dict[bytes, Failed] = field(default_factory=dict)  # why there is no reply, by key

    def to_json(self) -> dict[str, Any]:
        return {
            "asked": self.calls,
            "failed": len(self.failed),
            "repeated": self.repeated,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": self.cost,
            "seconds": round(self.seconds, 3),
        }


def survey(judge: AskedModel, questions: Iterable[Question], store: ReplyStore) -> CallEstimate:
    """Count the questions, without duplicates, and those with a stored reply; estimate the tokens of the others."""
    seen: set[bytes] = set()
    missing, most = 0, Usage()
    for question in questions:
        key = judge.key(question)
        if key in seen:
            continue
        seen.add(key)
        if key not in store:
            missing += 1
            most += judge.most(question)
    return CallEstimate(len(seen), len(seen) - missing, most)


async def ask_all(
    judge: AskedModel,
    questions: Iterable[Question],
    store: ReplyStore,
    limits: CallLimits,
    watch: ProgressReporter,
) -> AskingOutcome:
    """Ask the questions that have no stored reply, and store the replies, even if the run breaks off. Raises ChatError
    when the endpoint is down, and PearlError when the cap on the cost is reached."""
    run = _Run(judge, _missing(judge, questions, store), store, limits, watch)
    try:
        return await run.run()
    except ExceptionGroup as group:  # no `except*`: what is raised there, Python before 3.11.4 puts into a group
        ours, others = group.split(PearlError)
        if ours is None or others is not None:
            raise
        raise _first(ours) from group


def replies(
    judge: AskedModel, questions: Iterable[Question], store: ReplyStore, outcome: AskingOutcome
) -> Iterator[Reply | Failed]:
    """Yield for each question, in order, its stored reply or the reason why it failed."""
    for question in questions:
        key = judge.key(question)
        reply = store.get(key)
        yield outcome.failed.get(key, Failed("not_asked")) if reply is None else reply


async def generate(
    model: ChatModel,
    identity: str,
    prompts: Sequence[tuple[Message, ...]],
    decoding: Decoding,
    store: ReplyStore,
    watch: ProgressReporter = UNREPORTED,
    go_on: Callable[[], bool] = lambda: True,
    in_flight: int = 1,
    spending: SpendingCap | None = None,
) -> list[Reply | Failed]:
    """Have the model write a text for each prompt; return the texts in order. A prompt with a stored reply is not asked
    again. Once ``go_on`` returns False, prompts fail as OUT_OF_TIME.

    Raises ChatError when the model is down, and PearlError when the cap of ``spending`` is reached.
    """
    writer, questions = _writer(model, identity, decoding), [Question(prompt) for prompt in prompts]
    if spending is not None:
        writer = replace(writer, count_tokens=model.count_tokens)
    limits = CallLimits(in_flight, spending=spending, go_on=go_on, refuse_empty=True)
    return list(replies(writer, questions, store, await ask_all(writer, questions, store, limits, watch)))


def missing(
    model: ChatModel, identity: str, prompts: Sequence[tuple[Message, ...]], decoding: Decoding, store: ReplyStore
) -> int:
    """Count the prompts, without duplicates, that have no stored text."""
    return survey(_writer(model, identity, decoding), [Question(prompt) for prompt in prompts], store).missing


def _writer(model: ChatModel, identity: str, decoding: Decoding) -> AskedModel:
    return AskedModel(asking(model), identity, decoding, len)  # tokens that are not paid for


def _missing(judge: AskedModel, questions: Iterable[Question], store: ReplyStore) -> Iterator[tuple[bytes, Question]]:
    seen: set[bytes] = set()
    for question in questions:
        key = judge.key(question)
        if key not in seen and key not in store:
            yield key, question
        seen.add(key)


def _first(group: ExceptionGroup[PearlError]) -> PearlError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, PearlError)
    return error


class _Run:
    """A run in which workers take questions from one iterator and another task commits the replies."""

    def __init__(
        self,
        judge: AskedModel,
        todo: Iterator[tuple[bytes, Question]],
        store: ReplyStore,
        limits: CallLimits,
        watch: ProgressReporter,
    ) -> None:
        self._judge = judge
        self._todo = todo
        self._kept = store
        self._limits = limits
        self._watch = watch
        self._patience = Patience(judge.ask, watch.waits, go_on=limits.go_on)
        self._spending = limits.spending or SpendingCap(limits.prices, limits.cap)
        self._new = asyncio.Event()
        self._committed = 0.0
        self._capped = False
        self._outcome = AskingOutcome()

    async def run(self) -> AskingOutcome:
        started = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                committing = group.create_task(self._commit())
                async with asyncio.TaskGroup() as workers:
                    for _ in range(self._limits.in_flight):
                        workers.create_task(self._work())
                committing.cancel()
        finally:
            self._kept.commit()
        outcome = self._outcome
        outcome.seconds = time.monotonic() - started
        outcome.repeated, outcome.usage = self._patience.repeated, self._spending.usage
        outcome.cost = self._spending.spent
        if self._capped:
            raise PearlError(
                f"--max-cost {self._spending.cap:g}: stopped after {outcome.calls:,} calls, which cost "
                f"{outcome.cost:.4g}; their replies are kept. Raise it to go on.",
                code="spending_cap",
            )
        return outcome

    async def _work(self) -> None:
        for key, question in self._todo:
            most = self._judge.most(question)
            if self._capped or not await self._spending.set_aside(most):
                self._capped = True
                return
            decoding = replace(self._judge.decoding, seed=question.sample)
            asked_at = time.monotonic()
            reply = await self._patience.answer(question.messages, decoding)
            if isinstance(reply, Failed):
                self._spending.settle(most, Usage())
            else:
                # an endpoint that does not say what it used is taken to have used all it may
                self._spending.settle(most, reply.usage if reply.usage.total_tokens else most)
                reply = replace(reply, seconds=time.monotonic() - asked_at)
                if self._limits.refuse_empty and not storable(reply.text).strip():
                    reply = Failed(EMPTY_ANSWER)
            if isinstance(reply, Failed):
                self._outcome.failed[key] = reply
            else:
                self._keep(key, reply)
            if reply != Failed(OUT_OF_TIME):  # the model was not asked
                self._outcome.calls += 1
                self._watch.advance(isinstance(reply, Failed))

    def _keep(self, key: bytes, reply: Reply) -> None:
        """Store a reply. Commit at once if the last commit is old: with many calls an event loop's turn takes long."""
        self._kept.add(key, reply)
        if time.monotonic() - self._committed > COMMIT_S:
            self._kept.commit()
            self._committed = time.monotonic()
        else:
            self._new.set()

    async def _commit(self) -> None:
        while True:
            await self._new.wait()
            self._new.clear()
            await asyncio.sleep(COMMIT_S)
            self._kept.commit()
            self._committed = time.monotonic()
