"""The choice among edits of a draft, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pearl.editing.edits import REASONS
from pearl.records import Editing, TextScores


def editing_lines(editing: Editing) -> Iterator[str]:
    """Yield the scores before and after, the edits as a diff, and what failed; model words quoted and escaped."""
    draft, choice = _scores(editing.draft), _scores(editing.choice)
    if editing.chosen:
        yield f"Edited: {draft} became {choice}." if draft else "Edited."
    elif draft:
        yield f"Not edited: no candidate of {editing.candidates} is better than the draft ({draft})."
    else:
        yield "Not edited."
    for edit in editing.edits:
        yield f"  - {edit.span!r}"
        yield f"  + {edit.rewrite!r}" + (f"  ({edit.category})" if edit.category.isprintable() else "")
    if editing.failed:
        yield f"Candidates that failed: {_counts(editing.failed)} of {editing.candidates}."
    if editing.dropped:
        yield f"Candidates dropped: {_counts(editing.dropped)} of {editing.candidates}."
    for reason, number in editing.refused.items():
        yield f"Edits not executed: {number}, {REASONS[reason]}."


def _scores(scores: TextScores | None) -> str:
    if scores is None:
        return ""
    likeness = "" if scores.likeness is None else f", likeness {scores.likeness:.2f}"
    return f"quality {scores.quality:.2f}{likeness}"


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in counted.items())
