"""Candidates asked for: with replies that are kept, or within a time limit, where somebody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pearl.asking.ask import AskedModel, AskingOutcome, Terms, elicit, replies
from pearl.asking.kept import Question, ReplyStore
from pearl.asking.patience import OUT_OF_TIME, UNWATCHED, Failed, Watch, asking
from pearl.chat.base import ChatModel, Decoding, Message, Reply, complete
from pearl.editing.candidates import Candidate, candidate_of
from pearl.editing.prompt import prompt_for
from pearl.editing.steps import candidate_in_steps
from pearl.errors import ChatError, ContextExceeded
from pearl.records import Usage
from pearl.runtime.side_by_side import side_by_side


@dataclass(frozen=True, slots=True)
class EditingContext:
    """The model that edits drafts, and the limits it edits in."""

    model: ChatModel
    identity: str  # of the model, in the keys of its replies
    kept: ReplyStore
    terms: Terms

    async def candidates(
        self, draft: str, count: int, watch: Watch, instructions: str = ""
    ) -> tuple[list[Candidate], AskingOutcome]:
        """Ask for ``count`` candidates; return them, and the outcome of asking for those without a kept reply. Raises
        ChatError when the model is down, PearlError at the cap on cost."""
        if self.model.continues:
            return await self._in_steps(draft, count, watch, instructions)
        try:
            messages, decoding = prompt_for(self.model, draft, instructions)
        except ContextExceeded as error:
            return [Candidate(None, error.code)] * count, AskingOutcome()
        editor, questions = self._editor(decoding), [Question(messages, sample) for sample in range(count)]
        outcome = await elicit(editor, questions, self.kept, self.terms, watch)
        return [candidate_of(draft, reply) for reply in replies(editor, questions, self.kept, outcome)], outcome

    async def _in_steps(
        self, draft: str, count: int, watch: Watch, instructions: str
    ) -> tuple[list[Candidate], AskingOutcome]:
        """Ask for one candidate after the other, since such a model runs on this machine."""
        total, candidates = AskingOutcome(), []

        async def say(messages: Sequence[Message], decoding: Decoding) -> Reply | Failed:
            editor, question = self._editor(decoding), Question(tuple(messages), decoding.seed)
            outcome = await elicit(editor, [question], self.kept, self.terms, UNWATCHED)
            total.calls, total.seconds = total.calls + outcome.calls, total.seconds + outcome.seconds
            total.repeated, total.usage = total.repeated + outcome.repeated, total.usage + outcome.usage
            total.failed |= outcome.failed
            return next(replies(editor, [question], self.kept, outcome))

        for sample in range(count):
            candidates.append(await candidate_in_steps(say, draft, instructions, sample))
            watch.advance(candidates[-1].text is None)
        return candidates, total

    def _editor(self, decoding: Decoding) -> AskedModel:
        return AskedModel(asking(self.model), self.identity, decoding, self.model.count_tokens, self.model.name)


AT_ONCE = 8  # calls for one draft
LONG = 10_000  # characters of a reply that takes a while to read, in a thread then


async def write_candidates(
    model: ChatModel, draft: str, instructions: str, count: int, seconds: float, began: float | None = None
) -> tuple[list[Candidate], Usage]:
    """Ask for ``count`` candidates; return them and the tokens used. Calls still under way when the time is up are
    cancelled, and fail as OUT_OF_TIME.

    An endpoint is asked for several at once, a model on this machine for one after the other, so that some candidates
    are whole when the time runs out.
    """
    usage = Usage()
    candidates: dict[int, Candidate] = {}
    numbers = iter(range(count))

    async def say(messages: Sequence[Message], decoding: Decoding) -> Reply | Failed:
        nonlocal usage
        try:
            reply = await complete(model, messages, replace(decoding, began=began))
        except (ChatError, ContextExceeded) as error:
            return Failed(error.code)
        usage += reply.usage
        return reply

    async def in_steps() -> None:
        for number in numbers:
            candidates[number] = await candidate_in_steps(say, draft, instructions, number)

    async def in_one_reply() -> None:
        for number in numbers:
            reply = await say(messages, replace(decoding, seed=number))
            if isinstance(reply, Failed) or len(reply.text) <= LONG:
                candidates[number] = candidate_of(draft, reply)
            else:
                candidates[number] = await asyncio.to_thread(candidate_of, draft, reply)

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            if model.continues:
                await in_steps()
            else:
                try:
                    messages, decoding = prompt_for(model, draft, instructions)
                except ContextExceeded as error:
                    return [Candidate(None, error.code)] * count, usage
                await side_by_side(in_one_reply, min(count, AT_ONCE))
    late = Candidate(None, OUT_OF_TIME)
    return [candidates.get(number, late) for number in range(count)], usage
