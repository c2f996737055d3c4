"""The reply of an editor: Part 1 lists spans with their categories, Part 2 rewrites each, Part 3 is the edited text.

The form is that of the published edit traces (papers/writing-quality-rewards.txt, appendix G), with straight or curly
quotation marks in place of backquotes allowed, and Markdown around it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pearl.editing.edits import NO_REWRITE, NOT_LISTED, RefusedEdit, SpanEdit
from pearl.errors import InputError

PARTS = re.compile(r"^[ \t#*_]*Part ([123])\b[^\n]*$", re.MULTILINE | re.IGNORECASE)
START = r"^[ \t>*_-]*Span (?P<number>\d+)[*_]*:[*_]*[ \t]*"
END = r"[ \t*_]*$(?=\n+[ \t>*_-]*Span \d+|\s*\Z)"
QUOTES = ("``", '""', "“”")


def _lines(pattern: str) -> tuple[re.Pattern[str], ...]:
    """The pattern for each kind of quotation marks; << and >> stand for them."""
    flags = re.MULTILINE | re.DOTALL
    return tuple(
        re.compile(START + pattern.replace("<<", quotes[0]).replace(">>", quotes[1]) + END, flags) for quotes in QUOTES
    )


LISTED = _lines(r"<<(?P<span>.*?)>>[ \t]*\(Category:[ \t]*[`\"“]?(?P<said>[^\n]*?)[`\"”]?\)")
REWRITTEN = _lines(r"<<(?P<span>.*?)>>[ \t]*(?:->|→|=>|–>)[ \t]*<<(?P<said>.*?)>>")


@dataclass(frozen=True, slots=True)
class NumberedSpan:
    """A span of a part with its number, and its category in Part 1 or its rewrite in Part 2."""

    number: int
    span: str
    said: str


@dataclass(frozen=True, slots=True)
class EditorReply:
    """``text`` is Part 3; None where the reply ends before it."""

    listed: tuple[NumberedSpan, ...]
    rewritten: tuple[NumberedSpan, ...]
    text: str | None

    def edits(self) -> tuple[tuple[SpanEdit, ...], tuple[RefusedEdit, ...]]:
        """The edits that both parts agree on, and what only one of them has."""
        categories = {(entry.number, entry.span): entry.said.strip() for entry in self.listed}
        named = Counter((entry.number, entry.span) for entry in self.rewritten)
        edits = tuple(
            SpanEdit(entry.span, entry.said, categories[entry.number, entry.span])
            for entry in self.rewritten
            if (entry.number, entry.span) in categories
        )
        refused = [
            *(
                RefusedEdit(SpanEdit(entry.span, "", entry.said.strip()), NO_REWRITE)
                for entry in self.listed
                if (entry.number, entry.span) not in named
            ),
            *(
                RefusedEdit(SpanEdit(entry.span, entry.said), NOT_LISTED)
                for entry in self.rewritten
                if (entry.number, entry.span) not in categories
            ),
        ]
        return edits, tuple(refused)


def read_reply(reply: str) -> EditorReply:
    """The parts of an editor's reply. Raises InputError (``no_parts``) without Part 1 and Part 2, each once and in
    order; Part 3 may be missing."""
    marks = list(PARTS.finditer(reply))
    numbers = [mark[1] for mark in marks]
    if numbers not in (["1", "2"], ["1", "2", "3"]):
        has = ", ".join(f"Part {number}" for number in numbers) or "no part"
        raise InputError(f"an editor's reply must have Part 1, Part 2 and Part 3; it has {has}.", code="no_parts")
    ends = [mark.start() for mark in marks[1:]] + [len(reply)]
    parts = [reply[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
    text = parts[2].strip() if len(parts) == 3 else None
    return EditorReply(_read(parts[0], LISTED), _read(parts[1], REWRITTEN), text)


def _read(part: str, patterns: Sequence[re.Pattern[str]]) -> tuple[NumberedSpan, ...]:
    """The spans of a part, in the first kind of quotation marks that finds any."""
    for pattern in patterns:
        spans = tuple(
            NumberedSpan(int(match["number"]), match["span"], match["said"]) for match in pattern.finditer(part)
        )
        if spans:
            return spans
    return ()
