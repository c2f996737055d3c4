"""Candidates asked for within a time limit: for the service, where somebody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pearl.asking.patience import OUT_OF_TIME, Failed
from pearl.chat.base import ChatModel, Decoding, Message, Reply, complete
from pearl.editing.candidates import Candidate, candidate_of
from pearl.editing.prompt import prompt_for
from pearl.editing.steps import candidate_in_steps
from pearl.errors import ChatError, ContextExceeded
from pearl.records import Usage
from pearl.runtime.side_by_side import side_by_side

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
