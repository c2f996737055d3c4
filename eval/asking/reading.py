"""Parsing the answer in a judge's reply: one of several labels ("POST ONE", "Yes"), or a number on a scale.

An answer counts if it is announced anywhere in the reply ("My verdict is POST ONE.", a field of a JSON object, a tag, a
TeX box), or is the last line, or the first where that is allowed, unless a later line may retract it. Labels in other
sentences are ignored, as is text that repeats what the judge was shown. A reply that can be read in two ways is
invalid, and so is a number that is not on the scale: 70 is no probability, 0.5% may mean 0.5 or 0.005, 3/5 is on
another scale than 1 to 10. 70% and 7/10 are accepted as probabilities.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Generic, TypeVar

from eval.asking.lines import LONGEST_LINE, STATED, comparable, folded, is_repeated, own_lines, quotes_half
from eval.asking.reply import (
    DENIES,
    EMPTY,
    NO_VERDICT,
    NOT_OFFERED,
    SCORE_OUT_OF_RANGE,
    SEVERAL_VERDICTS,
    TAKEN_BACK,
    answer,
    clean,
)
from eval.asking.said import statements
from eval.asking.verdict import Invalid, Points, Score

VerdictT = TypeVar("VerdictT")

NOUNS = (  # of a choice
    *("verdict", "decision", "answer", "choice", "preference", "judgement", "judgment", "output", "conclusion"),
    *("result", "winner", "selection"),
)
SCORE_NOUNS = (
    *("answer", "verdict", "label", "rating", "score", "points", "total", "probability", "estimate", "judgement"),
    *("judgment", "total_score"),
)
LARGEST_WHOLE = 100  # that a probability may be said to be out of
MOST_ANSWERS = 50  # lines that look like one; a reply with more says nothing, and takes long to compare

# a word that turns from the answer above it
TURN = (
    r"wait|actually|instead|rather|second|(?:on|upon)\s+\w*\s*(?:thought|reflection)|reconsider\w*|chang\w+|mistaken?"
    r"|correction|revis\w+|scratch|sorry|wrong"
)
_DOUBTS = re.compile(
    rf"\b(?:{TURN}|but|though|although|however|other|former|latter|not|no|worse|worst|both|neither|either|tie|equal\w*"
    r"|unless|doubt\w*|unsure|uncertain|who)\b|n['’]t\b",
    re.IGNORECASE,
)
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # with these it is not read as it is written

# signs that decorate; those that deny, or change a number, are not among them
_SIGN = rf"[^\w…{DENIES}]"
_SIGNS = re.compile(rf"(?:{_SIGN}|_|</?\w[\w -]*>)*")
_OPENING = rf"(?:[^\w…{DENIES}{{.+<−-]|_|[.+−-](?!\s*\.?\d)|<(?!\s*[\d.])|<(?=\d[\d.]*>))*"
_SAYS = r"(?P<sign>[\s*_`\"]*(?:[:=|→➡⇒]|[=-]>|[–—-](?!\s*\.?\d))|\s+is\b:?)"
# between an answer and more about it; then it is not the answer that goes on
_APART = re.compile(r"[\s*_`\"'”’)\]|]*(?:[.;,:!]|\s[–—-])[\s*_`\"'”’)\]]|\s*[*_]*\s+\(")
_ENUMERATED = re.compile(r"[0-9]+[.)]\s")


@lru_cache
def _announcement(nouns: tuple[str, ...], others: str) -> re.Pattern[str]:
    noun = "|".join(nouns).replace("_", r"[\s_]")
    named = rf"(?:my\s+|the\s+)?(?:(?:final|overall|total)\s+)*(?P<noun>{noun})(?:\s+(?:{noun}))?{_SAYS}"
    so = r"(?:(?:so|thus|hence|therefore|overall)\b\W{0,3})?"
    return re.compile(rf"{_OPENING}{so}(?:{named}{f'|{others}' if others else ''}){_OPENING}", re.IGNORECASE)


_BARE = re.compile(_OPENING)


@dataclass(frozen=True, slots=True)
class _Answer(Generic[VerdictT]):
    """An answer on a line, and the rest of the line; Invalid if the line announces none of the answers offered."""

    verdict: VerdictT | Invalid
    rest: str = ""
    announced: bool = False
    stated: bool = False  # a formal statement


class Reader(ABC, Generic[VerdictT]):
    """A parser of a judge's replies; subclasses define how answers are spelled. Raises ValueError on construction if it
    cannot read its own ``spellings``, alone or after a reason."""

    nouns: tuple[str, ...]  # that announce it, and name fields and tags
    leads: bool  # the first line may be the answer
    once: bool  # said again, even the same, it is none
    announces: str = ""  # a regular expression of other ways to announce

    @property
    @abstractmethod
    def spellings(self) -> Mapping[str, VerdictT]: ...

    @abstractmethod
    def at(self, line: str, place: int) -> tuple[VerdictT | Invalid, int] | None:
        """Return the answer that begins at position ``place`` of the line, and the position where it ends, or None."""

    @abstractmethod
    def doubted(self, last: _Answer[VerdictT], below: Sequence[str]) -> bool:
        """True if the rest of the answer's line, or the lines ``below``, may take the answer back."""

    def __post_init__(self) -> None:
        if not self.spellings:
            raise ValueError("A reader must spell the answers that it reads.")
        for spelling, verdict in self.spellings.items():
            for reply in (f"It is so for a reason.\n{spelling}", spelling):
                if (other := self.read(reply)) != verdict:
                    raise ValueError(f"The reader reads {other} where a reply says {spelling!r}, not {verdict}.")

    def read(self, reply: str, shown: Sequence[str] = ()) -> VerdictT | Invalid:
        """Return the answer in a reply, or Invalid with a reason. ``shown``: the texts that the judge was shown."""
        text = answer(reply)
        if not text.strip():
            return Invalid(EMPTY)
        if _DIRECTION.search(reply):
            return Invalid(NO_VERDICT)
        lines = self._joined(own_lines(statements(text, self.nouns, shown)[0], self._stated))
        answers = {place: said for place, line in enumerate(lines) if (said := self._stated(line))}
        if len(answers) > MOST_ANSWERS:
            return Invalid(SEVERAL_VERDICTS)
        answers = {place: said for place, said in answers.items() if not _quoted(lines, place, shown)}
        announced = [place for place, said in answers.items() if said.stated or _announces(said, lines, place, shown)]
        if not answers:
            return Invalid(NO_VERDICT)
        place, last = (announced or list(answers))[-1], answers[(announced or list(answers))[-1]]
        ends = max((number + 1 for number, line in enumerate(lines) if not _SIGNS.fullmatch(line)), default=0)
        if not (announced and (last.stated or not self.once)):
            leads = self.leads and min(answers) == 0
            if place < ends - 1 and not leads:
                return Invalid(NO_VERDICT)
        return self._agreed(answers, announced, place, lines[place + 1 : ends])

    def _agreed(
        self, answers: Mapping[int, _Answer[VerdictT]], announced: Sequence[int], place: int, below: Sequence[str]
    ) -> VerdictT | Invalid:
        """The answer at ``place``, or Invalid if another answer differs from it or text after it takes it back."""
        last = answers[place]
        others = {number: said.verdict for number, said in answers.items() if number != place}
        if self.once and others:
            return Invalid(SEVERAL_VERDICTS)
        bare = [number for number in others if number not in announced]
        headings = [others[number] for number in bare] == list(self.spellings.values())[: len(bare)] and len(bare) > 1
        if not announced:  # with something written below each
            headings = headings and all(below > above + 1 for above, below in pairwise([*bare, place]))
        if any(verdict != last.verdict for number, verdict in others.items() if number in announced or not headings):
            return Invalid(SEVERAL_VERDICTS)
        if not isinstance(last.verdict, Invalid):
            taken_back = any(map(TAKEN_BACK.search, (last.rest, *below)))
            if taken_back or self.doubted(last, below):
                return Invalid(SEVERAL_VERDICTS)
        return last.verdict

    def _joined(self, lines: Sequence[str]) -> list[str]:
        """Join each line that only announces an answer with the line below; a formal statement there replaces both."""
        joined: list[str] = []
        for line in lines:
            above = joined[-1] if joined else ""
            alone = 0 < len(above) < LONGEST_LINE and self._announced.fullmatch(above)
            if alone and (line.startswith(STATED) or not _ENUMERATED.match(line)):
                joined[-1] = line if line.startswith(STATED) else f"{above} {line}"
            else:
                joined.append(line)
        return joined

    @property
    def _announced(self) -> re.Pattern[str]:
        return _announcement(self.nouns, self.announces)

    def _stated(self, line: str) -> _Answer[VerdictT] | None:
        """Parse a line as an answer; None if it is no answer at all."""
        stated = line.startswith(STATED)
        line = line.removeprefix(STATED)
        announced = None if stated else self._announced.match(line[:LONGEST_LINE])
        if not stated and (quotes_half(line) or (len(line) > LONGEST_LINE and not announced)):
            return None
        opening = announced or _BARE.match(line)
        found = self.at(line, opening.end() if opening else 0)
        if found:
            verdict, rest = found[0], line[found[1] :]
            if _SIGNS.fullmatch(rest):
                heading = ":" in rest and not announced
                return None if heading else _Answer(verdict, "", announced is not None, stated)
            if announced and _APART.match(rest):
                return _Answer(verdict, rest, announced=True)
        named = announced and announced["noun"] and announced["noun"].casefold() == "answer"
        unread = stated or (announced and named and ":" in announced["sign"])  # "the answer is plain" is prose
        return _Answer(Invalid(NOT_OFFERED), "", announced is not None, stated) if unread else None


def _quoted(lines: Sequence[str], place: int, shown: Sequence[str]) -> bool:
    """True if the line repeats a shown text, with the same neighbour or after a line that ends with a colon."""
    if lines[place].startswith(STATED):
        return False
    if is_repeated(lines, place, shown):
        return True
    led_in = place > 0 and lines[place - 1].endswith(":")
    return led_in and any(folded(lines[place]) == folded(clean(line)) for text in shown for line in text.splitlines())


def _announces(said: _Answer[VerdictT], lines: Sequence[str], place: int, shown: Sequence[str]) -> bool:
    """True if the line itself announces its answer: it is no part of a shown text, and no colon above leads to it."""
    led_in = place > 0 and lines[place - 1].endswith(":")
    return said.announced and not led_in and not any(folded(lines[place]) in comparable(text) for text in shown)


@dataclass(frozen=True, slots=True)
class Label(Generic[VerdictT]):
    """A label that may be an answer. ``spelled``: as the prompt offers it, empty if only some judges answer it;
    ``says``: a regular expression of the label as an answer; ``named``: of its mention in a sentence, by default
    ``says``."""

    spelled: str
    verdict: VerdictT | Invalid
    says: str
    named: str | None = None


@lru_cache
def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Labels(Reader[VerdictT]):
    """A parser of answers that are one of several labels; ``doubts`` matches later words that retract the answer."""

    labels: Sequence[Label[VerdictT]]
    nouns: tuple[str, ...] = NOUNS
    leads: bool = False
    once: bool = False
    announces: str = ""
    doubts: re.Pattern[str] = _DOUBTS

    @property
    def spellings(self) -> Mapping[str, VerdictT]:
        return {
            label.spelled: label.verdict
            for label in self.labels
            if label.spelled and not isinstance(label.verdict, Invalid)
        }

    def spelled(self, score: float) -> str:
        """Return the spelling of the label that stands for a score."""
        return next(label.spelled for label in self.labels if label.verdict == Score(score))

    def at(self, line: str, place: int) -> tuple[VerdictT | Invalid, int] | None:
        found = ((label.verdict, _words(label.says).match(line, place)) for label in self.labels)
        return next(((verdict, match.end()) for verdict, match in found if match), None)

    def doubted(self, last: _Answer[VerdictT], below: Sequence[str]) -> bool:
        if last.stated:  # reasons may stand below
            return False
        text = "\n".join((last.rest, *below))
        others = [label for label in self.labels if label.spelled and label.verdict != last.verdict]
        return bool(self.doubts.search(text)) or any(_words(label.named or label.says).search(text) for label in others)


_NUMBER = r"-?(?:(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9})?|\.[0-9]{1,9})"
_SCORE = re.compile(
    rf"(?P<number>{_NUMBER})(?:\s*points?\b)?(?:\s*(?P<percent>%)|\s*/\s*(?P<of>{_NUMBER})"
    rf"|\s+out\s+of\s+(?P<out_of>{_NUMBER}))?(?:\s*points?\b)?(?![\w%/])(?![.,][0-9])",
    re.IGNORECASE,
)
_ANOTHER = re.compile(
    rf"\b(?:say|be|is|give|giving|rate|rating|score|probability|answer|to|or)\b[^.\n0-9]{{0,20}}(?P<number>{_NUMBER})",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Scale(Reader[Points]):
    """A parser of answers that are a number from ``lowest`` to ``highest``."""

    lowest: float
    highest: float
    nouns: tuple[str, ...] = SCORE_NOUNS
    leads: bool = True
    once: bool = False
    says: str = "Answer"  # the word in front of it that the prompt asks for

    @property
    def spellings(self) -> Mapping[str, Points]:
        return {f"{self.says}: {bound:g}": Score(float(bound)) for bound in (self.lowest, self.highest)}

    def spelled(self, score: float) -> str:
        return f"{score:g}"

    def at(self, line: str, place: int) -> tuple[Points | Invalid, int] | None:
        number = _SCORE.match(line, place)
        if number is None:
            return None
        value, whole = float(number["number"]), float(number["of"] or number["out_of"] or self.highest)
        if number["percent"]:
            sure = self.highest == 1 and (value == 0 or value >= 1)
            value = value / 100 if sure else math.inf
        elif whole != self.highest:
            counted = value.is_integer() and whole.is_integer() and 0 < whole <= LARGEST_WHOLE
            value = value / whole if self.highest == 1 and counted else math.inf
        on_scale = self.lowest <= value <= self.highest
        return Score(value) if on_scale else Invalid(SCORE_OUT_OF_RANGE), number.end()

    def doubted(self, last: _Answer[Points], below: Sequence[str]) -> bool:
        """True if another number follows the answer on its line, or is announced below."""
        numbers = re.findall(_NUMBER, self._without_bounds(last.rest))
        numbers += [other["number"] for line in below for other in _ANOTHER.finditer(self._without_bounds(line))]
        return any(Score(float(number)) != last.verdict for number in numbers)

    def _without_bounds(self, text: str) -> str:
        """The text without the scale's own bounds, as in "on a scale of 1 to 10", which are no answers."""
        lowest, highest = (re.escape(f"{bound:g}") + r"(?:\.0)?" for bound in (self.lowest, self.highest))
        return re.sub(rf"(?<![\w.]){lowest}\s*(?:to|and|[–—-])\s*{highest}\b(?!\.[0-9])", " ", text)


_NO = r"no\b(?!\s+(?!(?:it|this|that|the|i|is|there)\b)[a-z])"  # and not the one of "no rhymes"
_EXHIBITS = r"\s+exhibits?(?:\s+(?:the|this)\s+(?:writing\s+)?style)?\b"
YES_NO: Labels[Points] = Labels(
    (
        Label("No", Score(0), _NO, rf"{_NO}|not\s+(?:really|at\s+all|quite)"),
        Label("Yes", Score(1), "yes"),
    ),
    nouns=SCORE_NOUNS,
    leads=True,
    doubts=TAKEN_BACK,
)
EXHIBITS: Labels[Points] = Labels(
    (
        Label("Does not exhibit", Score(1), rf"(?:does\s+not|doesn['’]t){_EXHIBITS}"),
        Label("Somewhat exhibits", Score(2), rf"somewhat{_EXHIBITS}"),
        Label("Clearly exhibits", Score(3), rf"clearly{_EXHIBITS}"),
    ),
    nouns=SCORE_NOUNS,
    leads=True,
    doubts=TAKEN_BACK,
)
