"""Candidates for a draft: what the edits of an editor make of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pearl.answers.reasoning import without_reasoning
from pearl.asking.patience import Failed
from pearl.chat.base import Reply
from pearl.editing.edits import Execution, RefusedEdit, SpanEdit, execute, refusals
from pearl.editing.reply import read_reply
from pearl.errors import InputError
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
    """Execute the edits of a reply in three parts on the draft."""
    if isinstance(reply, Failed):
        return Candidate(None, reply.reason)
    try:
        edits, unmatched = read_reply(without_reasoning(storable(reply.text))).edits()
    except InputError as error:
        return Candidate(None, error.code)
    return executed(draft, edits, unmatched)


def executed(draft: str, edits: Sequence[SpanEdit], unmatched: Sequence[RefusedEdit] = ()) -> Candidate:
    """Execute edits on the draft; ``unmatched`` were refused before. A result that equals the draft, or is empty, is a
    failure."""
    execution = execute(draft, edits)
    refused = (*execution.refused, *unmatched)
    if not execution.placed or execution.text == draft:
        return Candidate(None, NOT_EXECUTED if refused else NO_EDIT, refused)
    if not execution.text.strip():
        return Candidate(None, NOT_EXECUTED, refused)
    return Candidate(execution, None, refused)


def failures(candidates: Iterable[Candidate]) -> dict[str, int]:
    """The number of candidates without a text by the reason."""
    return dict(Counter(candidate.failure for candidate in candidates if candidate.failure is not None))


def refused_edits(candidates: Iterable[Candidate]) -> dict[str, int]:
    """The number of edits that were not executed by the reason, over all candidates."""
    return refusals([edit for candidate in candidates for edit in candidate.refused])
