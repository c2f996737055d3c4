"""Reading a judge's reply, declared as data: a line that says a verdict and nothing else, or a field of an object.

Words of verdicts within sentences are what a justification is made of and say nothing. A reply that can be read in two
ways is invalid, and what the judge repeats from the texts it was shown is not its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from eval.asking.lines import LONGEST_LINE, is_repeated, own_lines, quotes_half, with_fields_as_lines
from eval.asking.reply import EMPTY, NO_VERDICT, SEVERAL_VERDICTS, answer, leading_object
from eval.asking.verdict import Invalid

VerdictT = TypeVar("VerdictT")

# signs that decorate; those that deny (a cross, a tilde, a question mark) are not among them
OPENING = r"[\s*_#`\"'“‘(\[{•=|:;–—-]*"
CLOSING = r"[\s*_`\"'”’)\]}.,;:!=|–—-]*"


def line_of(label: str) -> re.Pattern[str]:
    """A line that holds the label and nothing else, or calls it the verdict: "My final verdict is LABEL."

    ``label`` is a regular expression; the groups ``says`` and ``tail`` are what stands before and behind it.
    """
    nouns = "verdict|decision|answer|judge?ment|choice|output|conclusion"
    says = rf"(?:my\s+|the\s+)?(?:final\s+)?(?:{nouns})(?:\s+is\b|\s*[*_]*\s*[:=–—-]){OPENING}"
    so = r"(?:(?:so|thus|hence|therefore|overall)\b\W{0,3})?"
    return re.compile(rf"{OPENING}{so}(?P<says>{says})?(?:{label})(?P<tail>{CLOSING})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Label(Generic[VerdictT]):
    """A line that says a verdict; ``announced``: it calls it so; ``heading``: it ends with a colon."""

    place: int
    verdict: VerdictT | Invalid
    announced: bool
    heading: bool


@dataclass(frozen=True, slots=True)
class Grammar(Generic[VerdictT]):
    """The verdict is the last line that matches ``line`` and nothing stands below it; or one of the ``fields`` of a
    JSON object that begins the reply.

    ``verdict`` says what a match means, Invalid for words that were not offered. ``spelled``: the verdicts as the
    prompt asks for them. ``sections``: what headings without a colon say, in order, above what is written of each text.
    ``leads``: the verdict may be the first line, too; ``takes_back`` tells if the lines below may mean another one.
    ``once``: said again, even the same, it is none. ``alone``: a whole reply, or field, that is a verdict, too;
    ``number``: the verdict of a number in a field.

    Raises ValueError for a grammar that reads no verdict, or another one, where it is spelled as asked for.
    """

    line: re.Pattern[str]
    verdict: Callable[[re.Match[str]], VerdictT | Invalid]
    spelled: Mapping[str, VerdictT]
    fields: Sequence[str] = ()
    sections: Sequence[VerdictT] = ()
    leads: bool = False
    takes_back: Callable[[VerdictT | Invalid, Sequence[str]], bool] = lambda verdict, below: False
    once: bool = False
    alone: re.Pattern[str] | None = None
    number: Callable[[float], VerdictT | Invalid] | None = None

    def __post_init__(self) -> None:
        if not self.spelled:
            raise ValueError("A grammar must spell the verdicts that it reads.")
        for spelling, verdict in self.spelled.items():
            for reply in (f"It is so for a reason.\n{spelling}", spelling):
                if (other := self.read(reply)) != verdict:
                    raise ValueError(f"The grammar reads {other} where a reply says {spelling!r}, not {verdict}.")

    def read(self, reply: str, shown: Sequence[str] = ()) -> VerdictT | Invalid:
        """The verdict of a reply. ``shown`` are the texts that the judge had before it: a line that it repeats from
        there, with its neighbour, is not its own."""
        text = answer(reply)
        if not text.strip():
            return Invalid(EMPTY)
        if object_and_rest := leading_object(text):
            return self._of_object(*object_and_rest, shown)
        lines = own_lines(with_fields_as_lines(text, self.fields, shown), self.line.fullmatch)
        if self.alone and len(lines) == 1 and (match := self.alone.fullmatch(lines[0])):
            return self.verdict(match)
        labels = [label for label in self._labels(lines, shown) if label.announced or not label.heading]
        if not labels:
            return Invalid(NO_VERDICT)
        *others, last = labels
        if self.once and others:
            return Invalid(SEVERAL_VERDICTS)
        ends = last.place == len(lines) - 1 and not last.heading
        if not ends and not (self.leads and labels[0].place == 0):
            return Invalid(NO_VERDICT)
        headings = self._are_sections([label for label in others if not label.announced])
        if any(label.verdict != last.verdict for label in others if label.announced or not headings):
            return Invalid(SEVERAL_VERDICTS)
        if not ends and self.takes_back(last.verdict, lines[1:]):
            return Invalid(SEVERAL_VERDICTS)
        return last.verdict

    def _labels(self, lines: Sequence[str], shown: Sequence[str] = ()) -> Iterator[Label[VerdictT]]:
        for place, line in enumerate(lines):
            match = self.line.fullmatch(line) if len(line) < LONGEST_LINE else None
            if match and not quotes_half(line) and not (shown and is_repeated(lines, place, shown)):
                announced = bool(match.groupdict().get("says"))
                yield Label(place, self.verdict(match), announced, ":" in match.groupdict().get("tail", ""))

    def _are_sections(self, bare: Sequence[Label[VerdictT]]) -> bool:
        """One for each text, in their order, with something written between them; the verdict comes further down."""
        apart = all(below.place > above.place + 1 for above, below in pairwise(bare))
        return bool(bare) and [label.verdict for label in bare] == list(self.sections) and apart

    def _of_object(self, value: dict[str, Any], rest: str, shown: Sequence[str]) -> VerdictT | Invalid:
        fields = [value[name] for name in self.fields if name in value]
        verdicts = [verdict for field in fields for verdict in self._of_field(field)]
        if not fields or len(verdicts) < len(fields):
            return Invalid(NO_VERDICT)
        below = own_lines(rest, self.line.fullmatch)
        verdicts += [label.verdict for label in self._labels(below, shown) if label.announced or not label.heading]
        verdict = verdicts[0]
        if "{" in rest or any(other != verdict for other in verdicts) or (self.once and len(verdicts) > 1):
            return Invalid(SEVERAL_VERDICTS)
        return Invalid(SEVERAL_VERDICTS) if below and self.takes_back(verdict, below) else verdict

    def _of_field(self, value: object) -> Iterator[VerdictT | Invalid]:
        """One at most."""
        if isinstance(value, str) and self.alone:
            if match := self.alone.fullmatch(value):
                yield self.verdict(match)
        elif isinstance(value, str):
            yield from (label.verdict for label in self._labels([value.strip()]))
        elif self.number and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield self.number(value)
