"""Replies of the authorship judge, a justification and then POST ONE, POST TWO or BOTH, to verdicts.

The verdict is the last line of the reply, or the field of a JSON object. Labels within sentences are what a
justification is made of and say nothing; a reply that can be read in two ways is invalid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.asking.lines import BEFORE, LONGEST_LINE, folded, own_lines, quotes_half
from eval.asking.reply import EMPTY, NO_VERDICT, NOT_OFFERED, SEVERAL_VERDICTS, clean, leading_object
from eval.asking.verdict import Answer, Given, Invalid, Verdict

ANSWERS = {"ONE": Answer.A, "1": Answer.A, "TWO": Answer.B, "2": Answer.B, "BOTH": Answer.BOTH}
VERDICT_FIELDS = ("verdict", "decision", "final_decision", "answer", "choice", "judgement", "judgment", "output")

# signs that decorate; those that deny (a cross, a tilde, a question mark) are not among them
_OPENING = r"[\s*_#`\"'“‘(\[{•=|:;–—-]*"
_CLOSING = r"[\s*_`\"'”’)\]}.,;:!=|–—-]*"
_SAYS = (
    r"(?:my\s+|the\s+)?(?:final\s+)?(?:verdict|decision|answer|judge?ment|choice|output|conclusion)"
    r"(?:\s+is\b|\s*[*_]*\s*[:=–—-])"
)
_LABEL = r"(?:POST[\s:_-]{1,3}(?P<post>ONE|TWO|THREE|[123ABC])|(?P<bare>ONE|TWO|BOTH|NEITHER|EITHER|NONE|TIE))"
_LINE = re.compile(
    rf"{_OPENING}(?:(?:so|thus|hence|therefore|overall)\b\W{{0,3}})?(?P<says>{_SAYS}{_OPENING})?{_LABEL}(?:\s+POSTS)?"
    rf"(?P<tail>{_CLOSING})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Label:
    """A line that holds a label and nothing else. ``announced``: it calls it a verdict; ``heading``: it ends with a
    colon; ``place`` among the lines."""

    place: int
    word: str
    announced: bool
    heading: bool

    @property
    def meaning(self) -> str:
        answer = ANSWERS.get(self.word)
        return answer.value if answer else self.word


def parse_authorship(reply: str, shown: Sequence[str] = ()) -> Verdict:
    """A is POST ONE, B is POST TWO. ``shown`` are the texts that the judge had before it: a line that it repeats from
    there, with the line before it, is not its own."""
    text = clean(reply)
    if not text.strip():
        return Invalid(EMPTY)
    if given := leading_object(text):
        return _of_object(*given, shown)
    lines = own_lines(text, _LINE.fullmatch)
    labels = list(_labels(lines, shown))
    if not labels or labels[-1].place != len(lines) - 1 or labels[-1].heading:
        return Invalid(NO_VERDICT)
    *others, last = labels
    bare = [label for label in others if not label.announced and not label.heading]
    counted = [label for label in others if label.announced or (label in bare and not _are_headings(bare))]
    if {label.meaning for label in counted} - {last.meaning}:
        return Invalid(SEVERAL_VERDICTS)
    return _verdict(last)


def _labels(lines: Sequence[str], shown: Sequence[str]) -> Iterator[_Label]:
    known: list[str] | None = None
    for place, line in enumerate(lines):
        found = _LINE.fullmatch(line) if len(line) < LONGEST_LINE else None
        if found is None or quotes_half(line):
            continue
        known = [folded(clean(each)) for each in shown] if known is None else known
        near = folded(f"{lines[place - 1][-BEFORE:]}\n{line}") if place else ""
        if not near or not any(near in each for each in known):
            yield _Label(place, (found["post"] or found["bare"]).upper(), bool(found["says"]), ":" in found["tail"])


def _are_headings(bare: Sequence[_Label]) -> bool:
    """One for each post, in their order, with something written between them; a last verdict further down."""
    return [label.meaning for label in bare] == [Answer.A.value, Answer.B.value] and bare[0].place + 1 < bare[1].place


def _of_object(value: dict[str, Any], rest: str, shown: Sequence[str]) -> Verdict:
    said = [value[name] for name in VERDICT_FIELDS if name in value]
    lines = [text for each in said if isinstance(each, str) and (text := each.strip())]
    labels = list(_labels(lines, ()))
    if not said or len(labels) < len(said):
        return Invalid(NO_VERDICT)
    labels += [label for label in _labels(own_lines(rest, _LINE.fullmatch), shown) if not label.heading]
    if "{" in rest or len({label.meaning for label in labels}) > 1:
        return Invalid(SEVERAL_VERDICTS)
    return _verdict(labels[0])


def _verdict(label: _Label) -> Verdict:
    answer = ANSWERS.get(label.word)
    return Given(answer) if answer else Invalid(NOT_OFFERED)
