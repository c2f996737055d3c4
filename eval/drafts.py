"""Drafts and revisions for many requests at once, prompted as the service prompts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Protocol

from eval.generations import Generation, Generations, Task, generate, missing
from pearl.chat.base import ChatModel, Decoding
from pearl.errors import ContextExceeded
from pearl.prompts import Brief, Prompt, draft_prompt, edited_draft, revision_decoding, revision_prompt, unfenced

EMPTY = "empty_answer"
UNREADABLE = "revision_unreadable"
CUT_OFF = "length"


@dataclass(frozen=True, slots=True)
class Written:
    """A text, or the code of the ``failure`` that stands in its place. ``cut_off``: it hit the limit of tokens."""

    text: str | None
    failure: str | None = None
    cut_off: bool = False


class Watch(Protocol):
    """Told what is to be generated, gives what is told of each generation."""

    def __call__(self, label: str, total: int) -> Callable[[Generation], None]: ...


def unwatched(label: str, total: int) -> Callable[[Generation], None]:
    return lambda done: None


@dataclass(frozen=True, slots=True)
class Desk:
    """Where drafts are written: the model, how the keys of its answers call it, how it decodes, and what is kept."""

    model: ChatModel
    identity: str
    decoding: Decoding
    kept: Generations
    watch: Watch = unwatched


async def write_drafts(desk: Desk, systems: Sequence[Sequence[Brief]]) -> list[list[Written]]:
    """A draft for each brief of each system; all systems have as many briefs. Raises ChatError when the model is down.

    Case by case, not system by system: what is done says how long the rest takes, and a local model keeps what it read.
    """
    briefs = list(chain.from_iterable(zip(*systems, strict=True)))
    prompts = [_prompt(partial(draft_prompt, brief, desk.model, desk.decoding.max_tokens)) for brief in briefs]
    answers = await _answers(desk, "drafts", prompts, desk.decoding)
    written = [_draft(answer) for answer in answers]
    return [written[place :: len(systems)] for place in range(len(systems))]


async def write_revised(desk: Desk, systems: Sequence[Sequence[Brief]]) -> list[tuple[list[Written], list[Written]]]:
    """The drafts and their revisions, system by system. Raises ChatError when the model is down."""
    drafts = await write_drafts(desk, systems)
    return [(mine, await write_revisions(desk, briefs, mine)) for briefs, mine in zip(systems, drafts, strict=True)]


async def write_revisions(desk: Desk, briefs: Sequence[Brief], drafts: Sequence[Written]) -> list[Written]:
    """The revision of each draft; of a draft that failed, its failure. Raises ChatError when the model is down.

    An answer without a readable edited draft fails as UNREADABLE; the service then keeps the draft.
    """
    decoding = revision_decoding(desk.decoding)
    prompts = [
        None
        if (text := draft.text) is None
        else _prompt(partial(revision_prompt, brief, text, desk.model, decoding.max_tokens))
        for brief, draft in zip(briefs, drafts, strict=True)
    ]
    answers = await _answers(desk, "revisions", prompts, decoding)
    return [
        draft if draft.text is None else _revision(answer, "" if prompt is None else prompt.begun)
        for draft, prompt, answer in zip(drafts, prompts, answers, strict=True)
    ]


def _prompt(build: Callable[[], Prompt]) -> Prompt | None:
    try:
        return build()
    except ContextExceeded:
        return None


async def _answers(
    desk: Desk, label: str, prompts: Sequence[Prompt | None], decoding: Decoding
) -> list[Generation | None]:
    """None where the request alone does not fit the model."""
    tasks = [Task(prompt.messages, decoding) for prompt in prompts if prompt is not None]
    advance = desk.watch(label, missing(desk.identity, tasks, desk.kept))
    found = iter(await generate(desk.model, desk.identity, tasks, desk.kept, advance))
    return [None if prompt is None else next(found) for prompt in prompts]


def _draft(answer: Generation | None) -> Written:
    if answer is None or answer.error:
        return _failed(answer)
    text = unfenced(answer.text)
    return Written(text or None, None if text else EMPTY, answer.finish_reason == CUT_OFF)


def _revision(answer: Generation | None, begun: str) -> Written:
    if answer is None or answer.error:
        return _failed(answer)
    text = edited_draft(begun + answer.text)
    if text is None or answer.finish_reason == CUT_OFF:
        return Written(None, UNREADABLE, answer.finish_reason == CUT_OFF)
    return Written(text)


def _failed(answer: Generation | None) -> Written:
    return Written(None, ContextExceeded.default_code if answer is None else answer.error)
