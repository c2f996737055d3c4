"""The three-step editor asked step by step, for a model that goes on with an answer and can be held to one of several.

A model of 135M parameters never fills in the form of the one reply (``pearl.editing.prompt``), but it can choose among
numbered sentences and rewrite the one that it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from pearl.asking.patience import Failed
from pearl.chat.base import Decoding, Message, Reply
from pearl.editing.candidates import NO_EDIT, Candidate, executed
from pearl.editing.edits import NO_REWRITE, OTHER_WORDS, RefusedEdit, SpanEdit, occurrences
from pearl.editing.prompt import CATEGORIES, INSTRUCTIONS, SYSTEM, TEMPERATURE
from pearl.prompts import fenced
from pearl.text.usable import storable
from pearl.text.words import CLOSERS, FULL_STOPS, count_words, words_of

Say = Callable[[Sequence[Message], Decoding], Awaitable[Reply | Failed]]

SENTENCE_END = re.compile(
    rf"(?:(?<=[.!?])|(?<=[.!?][{CLOSERS}]))\s+(?=[\"'(\[]?[^\Wa-z_])|(?<=[{FULL_STOPS}])(?![{CLOSERS}])\s*|\n\s*\n"
)
LEAST_WORDS, MOST_WORDS = 4, 60  # of a sentence to rewrite: less is a greeting, more is a list or code
MOST_SENTENCES = 40
LEAST_KEPT = 0.5  # of a rewrite's words
WORD = re.compile(r"\w+")
ROOM = 32  # tokens of a rewrite beyond the sentence's
FIND = "Which sentence of this draft is weakest, and in what way? Answer with its number and one of: {categories}."
REWRITE = (
    "Rewrite one sentence so that it reads better. Add no facts, keep the tone, and answer with the sentence alone."
)
EXAMPLES = (
    SpanEdit(
        "The visit went well and it was a good visit for everyone.",
        "The visit went well for everyone.",
        "Unnecessary Exposition",
    ),
    SpanEdit(
        "This patch is doing the removing of the old flag since nobody has a use for it.",
        "This patch removes the old flag, which nobody uses.",
        "Awkward Word Choice and Phrasing",
    ),
    SpanEdit("At the end of the day, we decided to open on Friday.", "We open on Friday.", "Cliche"),
    SpanEdit(
        "The second proof is shorter, it uses the lemma, which we have already, so it should be preferred.",
        "The second proof is shorter and uses the lemma that we have, so I prefer it.",
        "Poor Sentence Structure",
    ),
)


async def candidate_in_steps(say: Say, draft: str, instructions: str, seed: int) -> Candidate:
    """The draft with one sentence rewritten: the model names the weakest by its number, with a category, and rewrites
    it. A rewrite whose words are mostly not the sentence's is refused, since small models make things up."""
    spans = sentences(draft)
    if not spans:
        return Candidate(None, NO_EDIT)
    choices = tuple(f"{number}: {name}" for number in range(1, len(spans) + 1) for name in CATEGORIES)
    longest = max(map(len, choices))  # a token is a character or more
    held = Decoding(longest, temperature=1.0, seed=seed, choices=choices)
    named = await say(_find(spans), held)
    if isinstance(named, Failed):
        return Candidate(None, named.reason)
    number, _, category = named.text.partition(": ")
    span = spans[int(number) - 1]
    longest = 2 * len(span.split()) + len(span.encode()) - len(span) + ROOM  # other letters take a token a byte
    free = Decoding(longest, temperature=TEMPERATURE, stop=("\n",), seed=seed)
    rewritten = await say(_rewrite(span, category, instructions), free)
    if isinstance(rewritten, Failed):
        return Candidate(None, rewritten.reason)
    edit = SpanEdit(span, storable(rewritten.text).strip(), category)
    if rewritten.finish_reason == "length" or not edit.rewrite:
        return executed(draft, (), (RefusedEdit(edit, NO_REWRITE),))
    if _kept_share(edit) < LEAST_KEPT:
        return executed(draft, (), (RefusedEdit(edit, OTHER_WORDS),))
    return executed(draft, (edit,))


def sentences(draft: str) -> list[str]:
    """The sentences of a draft that occur once and have an edit's length, in order; one may run over several lines."""
    sentences = [part.strip() for part in SENTENCE_END.split(draft)]
    fit = (part for part in sentences if LEAST_WORDS <= count_words(part) <= MOST_WORDS)
    return [part for part in fit if len(occurrences(draft, part)) == 1][:MOST_SENTENCES]


def _find(spans: Sequence[str]) -> tuple[Message, ...]:
    listed = "\n".join(f"{number}. {_line(span)}" for number, span in enumerate(spans, start=1))
    question = FIND.format(categories=", ".join(CATEGORIES))
    return Message("system", SYSTEM), Message("user", f"{question}\n\n<draft>\n{listed}\n</draft>")


def _rewrite(span: str, category: str, instructions: str) -> tuple[Message, ...]:
    standing = INSTRUCTIONS + instructions.strip() if instructions.strip() else ""
    turns = [
        message
        for edit in EXAMPLES
        for message in (Message("user", f"{edit.category}: {edit.span}"), Message("assistant", edit.rewrite))
    ]
    return Message("system", REWRITE + standing), *turns, Message("user", f"{category}: {_line(span)}")


def _kept_share(edit: SpanEdit) -> float:
    """The share of the rewrite's words that are the span's."""
    span, rewrite = (set(words_of(WORD, text.lower())) for text in (edit.span, edit.rewrite))
    return len(rewrite & span) / max(len(rewrite), 1)


def _line(span: str) -> str:
    return fenced(" ".join(span.split()))
