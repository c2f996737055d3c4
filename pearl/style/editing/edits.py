"""Executable edits: a span of a draft and its rewrite (papers/writing-quality-rewards.txt, section 5.1).

A span is replaced only if it occurs exactly once; any other edit is refused with a reason, nothing is guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pearl.records import Editing, PlacedEdit, TextScores
from pearl.text.words import FULL_STOPS, SIGN, characters

EMPTY, UNCHANGED, REPEATED = "empty_span", "unchanged", "repeated"
MISSING, SEVERAL, OVERLAPS, INSIDE = "missing", "several_times", "overlaps", "inside_character"
NO_REWRITE, NOT_LISTED, OTHER_WORDS = "no_rewrite", "not_listed", "other_words"
REASONS = {
    MISSING: "the span does not occur in the draft",
    SEVERAL: "the span occurs several times",
    OVERLAPS: "the span overlaps another edit's",
    INSIDE: "the span begins or ends inside a character",
    EMPTY: "the span is empty",
    UNCHANGED: "the rewrite is the span itself",
    REPEATED: "the same edit stands there before",
    NO_REWRITE: "the span has no rewrite",
    NOT_LISTED: "the rewrite is of a span that was not listed",
    OTHER_WORDS: "most words of the rewrite are not the span's",
}
STOPS = frozenset(".,;:!?，、；：،؛" + FULL_STOPS)  # a second one of the same kind is one too many
CLOSING_MARKS = STOPS | frozenset(")）」』】》")


@dataclass(frozen=True, slots=True)
class SpanEdit:
    span: str
    rewrite: str
    category: str = ""


@dataclass(frozen=True, slots=True)
class RefusedEdit:
    """An edit that was not executed."""

    edit: SpanEdit
    reason: str  # one of REASONS


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of executing edits on a draft."""

    text: str  # edited
    placed: tuple[PlacedEdit, ...]  # in the order of the draft
    refused: tuple[RefusedEdit, ...]


def execute(draft: str, edits: Sequence[SpanEdit], *, tidy: bool = True) -> Execution:
    """Replace every span that occurs exactly once in the draft.

    Edits whose spans overlap are all refused. With ``tidy`` a rewrite is fitted to the text around it: spaces and stops
    are not doubled, and a space stays where the span had one.
    """
    refused: list[RefusedEdit] = []
    placeable: list[PlacedEdit] = []
    boundaries: set[int] = set()
    for number, edit in enumerate(edits):
        starts = occurrences(draft, edit.span) if edit.span else []
        reason = _refusal(edit, edits[:number], len(starts))
        if reason is None:
            boundaries = boundaries or {0, *(end for _, end in characters(draft))}
            if not {starts[0], starts[0] + len(edit.span)} <= boundaries:
                reason = INSIDE
        if reason is None:
            placeable.append(PlacedEdit(starts[0], edit.span, edit.rewrite, edit.category))
        else:
            refused.append(RefusedEdit(edit, reason))
    placeable.sort(key=lambda placed: placed.start)
    overlapping = _overlapping(placeable)
    refused += [RefusedEdit(SpanEdit(edit.span, edit.rewrite, edit.category), OVERLAPS) for edit in overlapping]
    placed = [edit for edit in placeable if edit not in overlapping]
    if tidy:
        placed = _tidied(draft, placed)
    return Execution(replaced(draft, placed), tuple(placed), tuple(refused))


def replaced(draft: str, placed: Sequence[PlacedEdit]) -> str:
    """Return the draft with each span replaced by its rewrite; edits are in the order of the draft."""
    pieces, done = [], 0
    for edit in placed:
        pieces += [draft[done : edit.start], edit.rewrite]
        done = edit.end
    return "".join((*pieces, draft[done:]))


def occurrences(text: str, span: str) -> list[int]:
    """Return where each occurrence of the span starts, overlapping ones included."""
    starts, start = [], text.find(span)
    while start >= 0:
        starts.append(start)
        start = text.find(span, start + 1)
    return starts


def refusals(refused: Sequence[RefusedEdit]) -> dict[str, int]:
    """Count the refused edits by reason."""
    return dict(Counter(edit.reason for edit in refused))


def _refusal(edit: SpanEdit, before: Sequence[SpanEdit], times: int) -> str | None:
    if not edit.span:
        return EMPTY
    if edit.rewrite == edit.span:
        return UNCHANGED
    if times != 1:
        return SEVERAL if times else MISSING
    return REPEATED if any((earlier.span, earlier.rewrite) == (edit.span, edit.rewrite) for earlier in before) else None


def _overlapping(placed: Sequence[PlacedEdit]) -> list[PlacedEdit]:
    """The edits, in the order of the draft, whose spans share a character with another one's."""
    overlapping: list[PlacedEdit] = []
    reach: PlacedEdit | None = None  # the edit that reaches farthest so far
    for edit in placed:
        if reach is not None and edit.start < reach.end:
            overlapping += [reach, edit]
        if reach is None or edit.end > reach.end:
            reach = edit
    return list(dict.fromkeys(overlapping))


def _tidied(draft: str, placed: Sequence[PlacedEdit]) -> list[PlacedEdit]:
    tidied: list[PlacedEdit] = []
    for edit in placed:
        left = replaced(draft[: edit.start], tidied)
        tidied.append(_joined(edit, left, draft[edit.end :], tidied[-1].end if tidied else 0))
    return tidied


def _joined(edit: PlacedEdit, left: str, right: str, free_from: int) -> PlacedEdit:
    """The edit with a rewrite that fits between ``left`` and ``right``; the draft before ``free_from`` is taken."""
    start, span, rewrite = edit.start, edit.span, edit.rewrite
    before, after = left[-1:], right[:1]
    ends_here = not after or after.isspace() or after in CLOSING_MARKS
    if not before or before.isspace():
        rewrite = rewrite.lstrip(" ")
    if ends_here:
        rewrite = rewrite.rstrip(" ")
    if after in STOPS and rewrite[-1:] == after and rewrite[-2:-1] not in STOPS:
        rewrite = rewrite[:-1]
    if before in STOPS and rewrite[:1] == before and rewrite[1:2] not in STOPS:
        rewrite = rewrite[1:]
    if rewrite:
        if not ends_here and _parted(span[-1], rewrite[-1], after):
            rewrite += " "
        if before and not before.isspace() and _parted(span[0], before, rewrite[0]):
            rewrite = " " + rewrite
    elif before.isalnum() and after.isalnum() and any(character.isspace() for character in span):
        rewrite = " "
    elif before == " " and ends_here and start > free_from:
        start, span = start - 1, " " + span
    return PlacedEdit(start, span, rewrite, edit.category)


def _parted(edge: str, left: str, right: str) -> bool:
    """True if the span's edge separated a word from its neighbour and the rewrite does not. In a script without spaces
    a lost mark needs no space."""
    if left.isspace() or not right.isalnum():
        return False
    return edge.isspace() or (left.isalnum() and not edge.isalnum() and not SIGN.search(left + right))


def editing_lines(editing: Editing) -> Iterator[str]:
    """Yield lines for a terminal: scores before and after, edits as a diff, failures; model words are escaped."""
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
