"""Executing recorded traces of edits: how near the results come to the recorded texts, and why edits were refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.records import PlacedEdit
from pearl.style.editing.edits import (
    REPEATED,
    UNCHANGED,
    Execution,
    RefusedEdit,
    SpanEdit,
    execute,
    occurrences,
    refusals,
)
from pearl.style.editing.prompt import editor_prompt, reply_of
from retriever.reward.records import EditTrace, read_quality

SAME, SPACES, MARKS, WORDS = "same", "spaces", "marks", "words"
REACHES = (SAME, SPACES, MARKS, WORDS)
TOKEN = re.compile(r"\w+|[^\w\s]")
NEAR = 2  # characters from an edit at which a difference still is at its seam


@dataclass(frozen=True, slots=True)
class ExecutedTrace:
    """A recorded trace of edits (a draft, its edits and the final text), executed twice: with rewrites joined to the
    surrounding text, and verbatim."""

    trace: EditTrace
    tidied: Execution  # with rewrites joined to the text around them
    verbatim: Execution  # with rewrites as they stand

    @property
    def proposed(self) -> tuple[SpanEdit, ...]:
        """Every edit that the trace proposes, also an edit that only one part of the trace has."""
        return (*self.trace.edits, *(refused.edit for refused in self.trace.unmatched))

    @property
    def refused(self) -> tuple[RefusedEdit, ...]:
        return (*self.tidied.refused, *self.trace.unmatched)


def read_traces(path: Path) -> list[EditTrace]:
    """Read the traces of a file. Raises InputError if the file has none."""
    traces = [record for record in read_quality(path) if isinstance(record, EditTrace)]
    if not traces:
        raise InputError(f"{path}: holds no trace of edits (messages with Part 1 to Part 3).")
    return traces


def executed(traces: Sequence[EditTrace]) -> list[ExecutedTrace]:
    return [
        ExecutedTrace(trace, execute(trace.draft, trace.edits), execute(trace.draft, trace.edits, tidy=False))
        for trace in traces
    ]


def execution_report(traces: Sequence[ExecutedTrace]) -> dict[str, Any]:
    """Count executed and refused edits, and how often spans occur; measure how near results come to recorded texts."""
    times = Counter(
        min(len(occurrences(trace.trace.draft, edit.span)), 2) if edit.span else 0
        for trace in traces
        for edit in trace.proposed
    )
    whole = [trace for trace in traces if not lost(trace)]
    return {
        "n": len(traces),
        "edits": sum(len(trace.proposed) for trace in traces),
        "spans": {"once": times[1], "several_times": times[2], "missing": times[0]},
        "executed": sum(len(trace.tidied.placed) for trace in traces),
        "refused": refusals([edit for trace in traces for edit in trace.refused]),
        "categories": dict(
            Counter(edit.category for trace in traces for edit in trace.proposed if edit.category).most_common()
        ),
        "traces": {
            "all_executed": len(whole),
            "reach": {
                "verbatim": _reached(_reach_of(trace.verbatim.text, trace.trace.edited) for trace in whole),
                "tidied": _reached(_reach_of(trace.tidied.text, trace.trace.edited) for trace in whole),
            },
        },
        "not_reached": [row for trace in traces for row in _not_reached(trace)],
    }


def lost(trace: ExecutedTrace) -> list[RefusedEdit]:
    """The refused edits that would have changed the text."""
    return [edit for edit in trace.refused if edit.reason not in (UNCHANGED, REPEATED)]


def _reached(reaches: Iterable[str]) -> dict[str, int]:
    counted = Counter(reaches)
    return {reach: counted[reach] for reach in REACHES}


def _reach_of(text: str, stored: str) -> str:
    """Return how the text differs from the recorded one: the first of REACHES that is true."""
    if text == stored:
        return SAME
    if "".join(text.split()) == "".join(stored.split()):
        return SPACES
    words = [re.findall(r"\w+", version.lower()) for version in (text, stored)]
    return MARKS if words[0] == words[1] else WORDS


def _not_reached(trace: ExecutedTrace) -> Iterator[dict[str, Any]]:
    """Yield a row if the recorded text differs by more than spaces: where it differs, and which edits were refused."""
    reach = _reach_of(trace.tidied.text, trace.trace.edited)
    if reach in (SAME, SPACES) and not lost(trace):
        return
    at_edits, elsewhere = _differences(trace)
    yield {
        "record": trace.trace.line,
        "differs_in": reach,
        "at_edits": at_edits,
        "elsewhere": elsewhere,
        "refused": refusals(lost(trace)),
    }


def _differences(trace: ExecutedTrace) -> tuple[int, int]:
    """The number of differences at an executed edit, and elsewhere, where somebody changed the text without an edit."""
    text, stored = trace.tidied.text, trace.trace.edited
    ours = list(TOKEN.finditer(text))
    matcher = SequenceMatcher(None, [mark[0] for mark in ours], TOKEN.findall(stored), autojunk=False)
    ranges = list(_rewritten(trace.tidied.placed))
    at_edits = elsewhere = 0
    for kind, first, last, _, _ in matcher.get_opcodes():
        if kind == "equal":
            continue
        start = ours[first].start() if first < len(ours) else len(text)
        end = ours[last - 1].end() if last > first else start
        near = any(begin - NEAR <= end and start <= stop + NEAR for begin, stop in ranges)
        at_edits, elsewhere = at_edits + near, elsewhere + (not near)
    return at_edits, elsewhere


def _rewritten(placed: Sequence[PlacedEdit]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each rewrite in the edited text."""
    shift = 0
    for edit in placed:
        start = edit.start + shift
        yield start, start + len(edit.rewrite)
        shift += len(edit.rewrite) - len(edit.span)


def training_records(traces: Sequence[ExecutedTrace]) -> Iterator[dict[str, Any]]:
    """Yield chats that train a model to edit: PEARL's prompt, and a reply with executed edits and the edited text."""
    for trace in traces:
        names = {(edit.span, edit.rewrite) for edit in trace.verbatim.placed}
        edits = tuple(edit for edit in trace.trace.edits if (edit.span, edit.rewrite) in names)
        if edits:
            messages = [{"role": one.role, "content": one.content} for one in editor_prompt(trace.trace.draft)]
            answer = {"role": "assistant", "content": reply_of(edits, trace.tidied.text)}
            yield {"messages": [*messages, answer]}
