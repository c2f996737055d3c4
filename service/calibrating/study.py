"""A person's past texts, drafted with each number of documents to choose margin and k.

The documents that a margin and a k would have shown are the first ones of the ranking, so the drafts with the 1, 2, ...
best documents measure every pair of them.

Dimensions in comments: N texts, O options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from pearl.answers.marks import CLOSING
from pearl.asking.ask import EMPTY_ANSWER
from pearl.asking.patience import Failed
from pearl.asking.write import UNREADABLE, WrittenText, draft_of, prompt_or_none, read_revision
from pearl.chat.base import Decoding, Reply
from pearl.prompts import Prompt, PromptInputs, draft_prompt, revision_decoding, revision_prompt
from pearl.templates import Template
from retriever.base import Calibration, choose
from service.calibrating.past import PastText
from service.calibrating.writer import CalibrationWriter
from service.drafting.reading import read_text
from service.drafting.repetition import Repetitions

GAPS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of the distances from the best score that are tried as margins


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """A margin and a number of documents."""

    margin: float | None  # None: no margin
    k: int  # documents at most


@dataclass(frozen=True, slots=True)
class Study:
    """The texts and how the service would draft them."""

    past: tuple[PastText, ...]  # latest first
    template: Template
    instructions: str
    trained: Calibration  # the retriever's
    k: int  # the default
    exactly: bool  # the voice names k, so neither margin nor k is chosen
    max_tokens: int  # of a draft

    @property
    def default(self) -> SelectionRule:
        return SelectionRule(self.trained.margin, self.k)

    @property
    def drafting(self) -> Decoding:
        return Decoding(self.max_tokens, stop=(CLOSING,))

    @property
    def revising(self) -> Decoding:
        return revision_decoding(self.drafting)

    def number_shown(self, text: PastText, showing: SelectionRule) -> int:
        """The number of documents that the service would show for the text."""
        calibration = replace(self.trained, margin=showing.margin)
        return len(choose(text.ranking, showing.k, calibration, exactly=self.exactly))

    def numbers(self, text: PastText) -> list[int]:
        """The numbers of documents to draft the text with."""
        most = self.number_shown(text, SelectionRule(None, self.k))
        return [most] if self.exactly or not most else list(range(1, most + 1))

    def inputs(self, text: PastText, number: int) -> PromptInputs:
        """The inputs to draft the text with this number of its documents."""
        best = choose(text.ranking, self.k, replace(self.trained, margin=None), exactly=self.exactly)
        shown = tuple(scored.document for scored in best[:number])
        return PromptInputs(self.template, text.request, shown, self.instructions)

    def draft_prompts(self, writer: CalibrationWriter) -> list[list[Prompt | None]]:
        """For each text the prompts with each number of documents."""
        make = partial(self._draft_prompt, writer)
        return [[make(text, number) for number in self.numbers(text)] for text in self.past]

    def _draft_prompt(self, writer: CalibrationWriter, text: PastText, number: int) -> Prompt | None:
        inputs = self.inputs(text, number)
        return prompt_or_none(partial(draft_prompt, inputs, writer.model, self.max_tokens))

    def revision_prompt(self, writer: CalibrationWriter, text: PastText, number: int, draft: str) -> Prompt | None:
        """The prompt that revises a draft of the text."""
        inputs, max_tokens = self.inputs(text, number), self.revising.max_tokens
        return prompt_or_none(partial(revision_prompt, inputs, draft, writer.model, max_tokens))

    def draft(self, text: PastText, number: int, answer: Reply | Failed) -> WrittenText:
        """The draft in an answer as the service reads it, without sentences that repeat the voice's instructions."""
        return self._read(text, number, draft_of(answer), EMPTY_ANSWER)

    def revision(self, text: PastText, number: int, answer: Reply | Failed, prompt: Prompt | None) -> WrittenText:
        """The edited draft in an answer, read in the same way."""
        return self._read(text, number, read_revision(answer, "" if prompt is None else prompt.begun), UNREADABLE)

    def _read(self, text: PastText, number: int, written: WrittenText, nothing: str) -> WrittenText:
        if written.text is None:
            return written
        read, _ = read_text(written.text, Repetitions(self.inputs(text, number)), ())
        return replace(written, text=read or None, failure=None if read else nothing)

    def showings(self) -> list[SelectionRule]:
        """Every margin and k to try, the default first."""
        gaps = [
            text.top_score - scored.score
            for text in self.past
            for scored in choose(text.ranking, self.k, replace(self.trained, margin=None))[1:]
        ]
        margins = [self.trained.margin, None, *(np.quantile(gaps, GAPS).tolist() if gaps else ())]
        tried = [SelectionRule(margin, k) for k in range(self.k, 0, -1) for margin in dict.fromkeys(margins)]
        return list(dict.fromkeys((self.default, *tried)))


def flat(prompts: Sequence[Sequence[Prompt | None]]) -> list[Prompt | None]:
    """All prompts in one list."""
    return list(chain.from_iterable(prompts))
