"""Candidates for a draft: edited versions that a model proposes, asked for in bulk, with stored replies, or within a
time limit, while somebody waits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from pearl.errors import ChatError, ContextExceeded, InputError
from pearl.models.asking.ask import AskedModel, AskingOutcome, CallLimits, ask_all, replies
from pearl.models.asking.kept import Question, ReplyStore
from pearl.models.asking.patience import OUT_OF_TIME, Failed, ProgressReporter, asking
from pearl.models.chat.base import ChatModel, Reply, complete
from pearl.models.runtime.side_by_side import side_by_side
from pearl.records import Usage
from pearl.style.editing.edits import Execution, RefusedEdit, SpanEdit, execute, refusals
from pearl.style.editing.prompt import prompt_for
from pearl.style.editing.reply import read_reply
from pearl.text.answers.reasoning import without_reasoning
from pearl.text.usable import storable

NO_EDIT, NOT_EXECUTED = "no_edit", "not_executed"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edited draft, or why there is none."""

    execution: Execution | None
    failure: str | None = None  # the code
    refused: tuple[RefusedEdit, ...] = ()  # edits that were proposed and not executed, also those of a failure

    @property
    def text(self) -> str | None:
        return None if self.execution is None else self.execution.text


def candidate_of(draft: str, reply: Reply | Failed) -> Candidate:
    """Read the edits in an editor's reply and execute them on the draft."""
    if isinstance(reply, Failed):
        return Candidate(None, reply.reason)
    try:
        edits, unmatched = read_reply(without_reasoning(storable(reply.text))).edits()
    except InputError as error:
        return Candidate(None, error.code)
    return executed(draft, edits, unmatched)


def executed(draft: str, edits: Sequence[SpanEdit], unmatched: Sequence[RefusedEdit] = ()) -> Candidate:
    """Execute edits on the draft, and return the candidate: a failure if the text stays the same or becomes empty.
    ``unmatched``: edits that were refused before."""
    execution = execute(draft, edits)
    refused = (*execution.refused, *unmatched)
    if not execution.placed or execution.text == draft:
        return Candidate(None, NOT_EXECUTED if refused else NO_EDIT, refused)
    if not execution.text.strip():
        return Candidate(None, NOT_EXECUTED, refused)
    return Candidate(execution, None, refused)


def failures(candidates: Iterable[Candidate]) -> dict[str, int]:
    """Count the candidates without a text, by reason."""
    return dict(Counter(candidate.failure for candidate in candidates if candidate.failure is not None))


def refused_edits(candidates: Iterable[Candidate]) -> dict[str, int]:
    """Count the edits of all candidates that were not executed, by reason."""
    return refusals([edit for candidate in candidates for edit in candidate.refused])


@dataclass(frozen=True, slots=True)
class EditingContext:
    """The model that edits drafts, where its replies are kept, and its limits."""

    model: ChatModel
    identity: str  # of the model, in the keys of its replies
    kept: ReplyStore
    limits: CallLimits

    async def candidates(
        self, draft: str, count: int, watch: ProgressReporter, instructions: str = ""
    ) -> tuple[list[Candidate], AskingOutcome]:
        """Ask for ``count`` candidates, or read their stored replies; return them, and what the asking used. Raises
        ChatError when the model is down, PearlError at the cap on cost."""
        try:
            messages, decoding = prompt_for(self.model, draft, instructions)
        except ContextExceeded as error:
            return [Candidate(None, error.code)] * count, AskingOutcome()
        editor = AskedModel(asking(self.model), self.identity, decoding, self.model.count_tokens, self.model.name)
        questions = [Question(messages, sample) for sample in range(count)]
        outcome = await ask_all(editor, questions, self.kept, self.limits, watch)
        return [candidate_of(draft, reply) for reply in replies(editor, questions, self.kept, outcome)], outcome


AT_ONCE = 8  # calls for one draft
LONG = 10_000  # characters of a reply that takes a while to read, in a thread then


async def write_candidates(
    model: ChatModel, draft: str, instructions: str, count: int, seconds: float, began: float | None = None
) -> tuple[list[Candidate], Usage]:
    """Ask for ``count`` candidates; return them and the tokens used. Calls that are not done after ``seconds`` are
    cancelled, and fail as OUT_OF_TIME.

    An endpoint is asked for several candidates at once, a local model for one after the other, so that some candidates
    are complete when the time runs out.
    """
    try:
        messages, decoding = prompt_for(model, draft, instructions)
    except ContextExceeded as error:
        return [Candidate(None, error.code)] * count, Usage()
    usage = Usage()
    candidates: dict[int, Candidate] = {}
    numbers = iter(range(count))

    async def ask() -> None:
        nonlocal usage
        for number in numbers:
            try:
                reply = await complete(model, messages, replace(decoding, seed=number, began=began))
            except (ChatError, ContextExceeded) as error:
                candidates[number] = Candidate(None, error.code)
                continue
            usage += reply.usage
            read = partial(candidate_of, draft, reply)
            candidates[number] = read() if len(reply.text) <= LONG else await asyncio.to_thread(read)

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await side_by_side(ask, 1 if model.continues else min(count, AT_ONCE))
    late = Candidate(None, OUT_OF_TIME)
    return [candidates.get(number, late) for number in range(count)], usage
