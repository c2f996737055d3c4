"""Drafts and revisions for many requests at once, with the prompts that the service uses."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from pearl.clock import Budget
from pearl.errors import ContextExceeded
from pearl.models.asking.ask import EMPTY_ANSWER, generate, missing
from pearl.models.asking.cost import SpendingCap
from pearl.models.asking.kept import ReplyStore
from pearl.models.asking.patience import UNREPORTED, Failed, ProgressReporter
from pearl.models.chat.base import ChatModel, Decoding, Reply
from pearl.models.prompts import (
    Prompt,
    PromptBuilder,
    PromptInputs,
    draft_prompt,
    edited_draft,
    revision_decoding,
    revision_prompt,
    second_prompt,
)
from pearl.records import Usage
from pearl.text.answers.assistant import answers_as_assistant
from pearl.text.answers.loops import without_loops
from pearl.text.answers.marks import unfenced

UNREADABLE = "revision_unreadable"
CUT_OFF = "length"


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text that a model wrote, or why there is none."""

    text: str | None
    failure: str | None = None  # the code
    cut_off: bool = False  # at the limit of tokens
    usage: Usage | None = field(default=None, compare=False)
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class WritingContext:
    """The model that writes drafts, where its answers are kept, and its limits of time, calls and cost."""

    model: ChatModel
    identity: str  # of the model, in the keys of its answers
    decoding: Decoding
    kept: ReplyStore
    watch: Callable[[str, int], ProgressReporter] = lambda label, total: UNREPORTED  # observes drafts, or revisions
    budget: Budget = field(default_factory=lambda: Budget(None))  # time allowed
    in_flight: int = 1  # calls under way at once
    spending: SpendingCap | None = None


async def write_drafts(
    context: WritingContext,
    systems: Sequence[Sequence[PromptInputs]],
    share: float = 1.0,
    builders: Sequence[PromptBuilder] = (),
) -> list[list[WrittenText]]:
    """Write a draft for each prompt of each system (one of the compared ways to draft); return the drafts by system.
    All systems have the same number of prompts. ``builders``: of each system's prompts, if not PEARL's for all; only
    PEARL asks again after a refusal.

    A draft that is not written before ``share`` of the context's time has passed fails as OUT_OF_TIME. Raises ChatError
    when the model is down.
    """
    all_inputs = list(zip(*systems, strict=True))
    order = _order(len(all_inputs))
    built_by = builders or [draft_prompt] * len(systems)
    mixed = [pair for index in order for pair in zip(all_inputs[index], built_by, strict=True)]
    most = context.decoding.max_tokens
    prompts = [prompt_or_none(partial(build, inputs, context.model, most)) for inputs, build in mixed]
    texts = [draft_of(answer) for answer in await _answers(context, "drafts", prompts, context.decoding, share)]
    # an assistant's answer, as the service does
    refused = [index for index, text in enumerate(texts) if is_no_draft(text) and mixed[index][1] is draft_prompt]
    prompts = [prompt_or_none(partial(second_prompt, mixed[index][0], context.model, most)) for index in refused]
    answers = await _answers(context, "second drafts", prompts, context.decoding, share) if refused else []
    for index, answer in zip(refused, answers, strict=True):
        second = draft_of(answer)
        texts[index] = texts[index] if second.text is None else second
    drafts = iter(texts)
    written = {index: [next(drafts) for _ in systems] for index in order}
    return [[written[index][system] for index in range(len(all_inputs))] for system in range(len(systems))]


async def write_revised(
    context: WritingContext, systems: Sequence[Sequence[PromptInputs]]
) -> list[tuple[list[WrittenText], list[WrittenText]]]:
    """Write drafts in the first half of the context's time, and revise them in the second. Return the drafts and the
    revisions of each system. Raises ChatError when the model is down."""
    drafts = await write_drafts(context, systems, 0.5)
    return [
        (of_system, await write_revisions(context, all_inputs, of_system, 0.5 + 0.5 * number / len(systems)))
        for number, (all_inputs, of_system) in enumerate(zip(systems, drafts, strict=True), start=1)
    ]


async def write_revisions(
    context: WritingContext, all_inputs: Sequence[PromptInputs], drafts: Sequence[WrittenText], share: float = 1.0
) -> list[WrittenText]:
    """Revise each draft; a draft that failed keeps its failure.

    A revision that is not written before ``share`` of the context's time has passed fails as OUT_OF_TIME, an answer
    without a readable edited draft fails as UNREADABLE. Raises ChatError when the model is down.
    """
    decoding = revision_decoding(context.decoding)
    revised = list(drafts)
    texts = {index: text for index in _order(len(drafts)) if (text := drafts[index].text) is not None}
    prompts = [
        prompt_or_none(partial(revision_prompt, all_inputs[index], text, context.model, decoding.max_tokens))
        for index, text in texts.items()
    ]
    answers = await _answers(context, "revisions", prompts, decoding, share)
    for index, prompt, answer in zip(texts, prompts, answers, strict=True):
        revised[index] = read_revision(answer, "" if prompt is None else prompt.begun)
    return revised


def _order(count: int) -> list[int]:
    """The indices of all cases, shuffled: those written before the time is up are a sample."""
    return random.Random(0).sample(range(count), count)


def prompt_or_none(build: Callable[[], Prompt]) -> Prompt | None:
    """Build the prompt; return None if the request alone does not fit the model's context."""
    try:
        return build()
    except ContextExceeded:
        return None


async def _answers(
    context: WritingContext, label: str, prompts: Sequence[Prompt | None], decoding: Decoding, share: float
) -> list[Reply | Failed]:
    """Replies to the prompts that fit the model; a request that does not fit by itself fails."""
    fitting = [prompt.messages for prompt in prompts if prompt is not None]
    arguments = context.model, context.identity, fitting, decoding, context.kept
    watch = context.watch(label, missing(*arguments))
    replies = iter(await generate(*arguments, watch, context.budget.until(share), context.in_flight, context.spending))
    return [Failed(ContextExceeded.default_code) if prompt is None else next(replies) for prompt in prompts]


def draft_of(answer: Reply | Failed) -> WrittenText:
    """Read the draft from an answer, as the service does. The result says why if there is no draft."""
    if isinstance(answer, Failed):
        return WrittenText(None, answer.reason)
    text = without_loops(unfenced(answer.text))
    why = None if text else EMPTY_ANSWER
    return WrittenText(text or None, why, answer.finish_reason == CUT_OFF, answer.usage, answer.seconds)


def is_no_draft(text: WrittenText) -> bool:
    """True for an empty answer, and for one in which the model speaks as an assistant, such as a refusal."""
    return text.failure == EMPTY_ANSWER or (text.text is not None and answers_as_assistant(text.text))


def read_revision(answer: Reply | Failed, begun: str) -> WrittenText:
    """Read the edited draft from an answer. ``begun``: the beginning of the answer that the prompt already gave."""
    if isinstance(answer, Failed):
        return WrittenText(None, UNREADABLE if answer.reason == EMPTY_ANSWER else answer.reason)
    text = edited_draft(begun + answer.text)
    if text is None or answer.finish_reason == CUT_OFF:
        return WrittenText(None, UNREADABLE, answer.finish_reason == CUT_OFF)
    return WrittenText(without_loops(text))
