"""The reply of an editor: Part 1 lists spans with their categories, Part 2 rewrites each, Part 3 is the edited text.

The form is that of the published edit traces (papers/writing-quality-rewards.txt, appendix G), with straight or curly
quotation marks in place of backquotes allowed, and Markdown around it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from pearl.errors import InputError
from pearl.style.editing.edits import NO_REWRITE, NOT_LISTED, RefusedEdit, SpanEdit

PARTS = re.compile(r"^[ \t#*_]*Part ([123])\b[^\n]*$", re.MULTILINE | re.IGNORECASE)
ENTRY = re.compile(r"^[ \t>*_-]*Span \d", re.MULTILINE)
START = re.compile(r"[ \t>*_-]*Span (?P<number>\d{1,4})[*_]*:[*_]*[ \t]*")
AROUND = " \t\n*_"  # an entry
QUOTES = (("`", "`"), ('"', '"'), ("“", "”"))
# between a span and what is said of it, for each kind of quotation marks
CATEGORIES = tuple(re.compile(rf"{close}[ \t]*\(Category:[ \t]*[`\"“]?") for _, close in QUOTES)
ARROWS = tuple(re.compile(rf"{close}[ \t]*(?:->|→|=>|–>)[ \t]*{opening}") for opening, close in QUOTES)


@dataclass(frozen=True, slots=True)
class NumberedSpan:
    """A numbered entry in Part 1 or Part 2 of a reply."""

    number: int
    span: str
    said: str  # the category in Part 1, the rewrite in Part 2


@dataclass(frozen=True, slots=True)
class EditorReply:
    """The parts of an editor's reply."""

    listed: tuple[NumberedSpan, ...]  # Part 1
    rewritten: tuple[NumberedSpan, ...]  # Part 2
    text: str | None  # Part 3; None if the reply ends before it

    def edits(self) -> tuple[tuple[SpanEdit, ...], tuple[RefusedEdit, ...]]:
        """Return the edits whose span is in both parts and, as refused edits, the spans that only one part has."""
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
    """Read an editor's reply. Raises InputError (``no_parts``) if Part 1 and Part 2 are not there, once each and in
    this order; Part 3 may be missing."""
    marks = list(PARTS.finditer(reply))
    numbers = [mark[1] for mark in marks]
    if numbers not in (["1", "2"], ["1", "2", "3"]):
        has = ", ".join(f"Part {number}" for number in numbers) or "no part"
        raise InputError(f"an editor's reply must have Part 1, Part 2 and Part 3; it has {has}.", code="no_parts")
    ends = [mark.start() for mark in marks[1:]] + [len(reply)]
    parts = [reply[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
    text = parts[2].strip() if len(parts) == 3 else None
    return EditorReply(_read(parts[0], _listed), _read(parts[1], _rewritten), text)


def _read(part: str, read: Callable[[str, int], tuple[str, str] | None]) -> tuple[NumberedSpan, ...]:
    """Read a part's spans by the first kind of quotation marks that finds any. An entry ends where the next begins:
    a model that repeats itself writes thousands, and each is read once."""
    begins = [mark.start() for mark in ENTRY.finditer(part)]
    entries = [part[begin:end] for begin, end in pairwise([*begins, len(part)])]
    for kind, (opening, _) in enumerate(QUOTES):
        spans = []
        for entry in entries:
            start = START.match(entry)
            if start and entry.startswith(opening, start.end()) and (both := read(entry[start.end() + 1 :], kind)):
                spans.append(NumberedSpan(int(start["number"]), *both))
        if spans:
            return tuple(spans)
    return ()


def _listed(entry: str, kind: int) -> tuple[str, str] | None:
    """A span and its category, which stands in the entry's last line; ``entry`` begins behind the quotation mark."""
    entry = entry.rstrip(AROUND)
    between = CATEGORIES[kind].search(entry, entry.rfind("\n") + 1)
    if between is None or not entry.endswith(")"):
        return None
    said = entry[between.end() : -1]
    return entry[: between.start()], said[:-1] if said.endswith(("`", '"', "”")) else said


def _rewritten(entry: str, kind: int) -> tuple[str, str] | None:
    """A span and its rewrite; ``entry`` begins behind the quotation mark."""
    entry = entry.rstrip(AROUND)
    between = ARROWS[kind].search(entry)
    if between is None or between.end() == len(entry) or not entry.endswith(QUOTES[kind][1]):
        return None
    return entry[: between.start()], entry[between.end() : -1]
