"""Candidates for a draft: what an editor's replies make of it, and a few replies asked for within a time limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pearl.asking.patience import OUT_OF_TIME, Failed
from pearl.chat.base import ChatModel, Decoding, Message, Reply, complete
from pearl.editing.edits import Execution, RefusedEdit, execute, refusals
from pearl.editing.prompt import BEGUN, prompt_for
from pearl.editing.reply import read_reply
from pearl.errors import ChatError, ContextExceeded, InputError
from pearl.reasoning import without_reasoning
from pearl.records import Usage
from pearl.side_by_side import side_by_side
from pearl.texts import storable

NO_EDIT, NOT_EXECUTED = "no_edit", "not_executed"
AT_ONCE = 8  # calls for one draft


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edited draft, or the code of the ``failure`` that stands in its place. ``refused``: edits that were proposed
    and not executed, also those of a failure."""

    execution: Execution | None
    failure: str | None = None
    refused: tuple[RefusedEdit, ...] = ()

    @property
    def text(self) -> str | None:
        return None if self.execution is None else self.execution.text


def candidate_of(draft: str, reply: Reply | Failed, *, begun: bool = False) -> Candidate:
    """The draft with the edits of a reply executed; ``begun``: the reply goes on with the beginning given to it."""
    if isinstance(reply, Failed):
        return Candidate(None, reply.reason)
    answer = without_reasoning(storable(reply.text))
    if begun and not answer.lstrip().startswith(BEGUN):
        answer = BEGUN + answer
    try:
        edits, unmatched = read_reply(answer).edits()
    except InputError as error:
        return Candidate(None, error.code)
    execution = execute(draft, edits)
    refused = (*execution.refused, *unmatched)
    if not execution.placed or execution.text == draft:
        return Candidate(None, NOT_EXECUTED if refused else NO_EDIT, refused)
    if not execution.text.strip():
        return Candidate(None, NOT_EXECUTED, refused)
    return Candidate(execution, None, refused)


def failures(candidates: Iterable[Candidate]) -> dict[str, int]:
    """The number of candidates without a text by the reason."""
    return dict(Counter(found.failure for found in candidates if found.failure is not None))


def refused_edits(candidates: Iterable[Candidate]) -> dict[str, int]:
    """The number of edits that were not executed by the reason, over all candidates."""
    return refusals([edit for found in candidates for edit in found.refused])


async def write_candidates(
    model: ChatModel, draft: str, instructions: str, count: int, seconds: float, began: float | None = None
) -> tuple[list[Candidate], Usage]:
    """``count`` candidates, several asked for at once, and what they used. One that fails or is not there when the
    time is up is a failure; the calls under way are cancelled then."""
    try:
        messages, decoding = prompt_for(model, draft, instructions)
    except ContextExceeded as error:
        return [Candidate(None, error.code)] * count, Usage()
    decoding = replace(decoding, began=began)
    replies: dict[int, Reply | Failed] = {}
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            replies[number] = await _reply(model, messages, replace(decoding, seed=number))

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await side_by_side(work, min(count, AT_ONCE))
    found = [replies.get(number, Failed(OUT_OF_TIME)) for number in range(count)]
    usage = sum((reply.usage for reply in found if isinstance(reply, Reply)), Usage())
    return [candidate_of(draft, reply, begun=model.continues) for reply in found], usage


async def _reply(model: ChatModel, messages: Sequence[Message], decoding: Decoding) -> Reply | Failed:
    try:
        return await complete(model, messages, decoding)
    except (ChatError, ContextExceeded) as error:
        return Failed(error.code)
