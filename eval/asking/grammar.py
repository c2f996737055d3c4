"""Reading a judge's reply, declared as data: a line that says a verdict and nothing else, or a formal statement.

Words of verdicts within sentences are what a justification is made of and say nothing. A reply that can be read in two
ways is invalid, and what the judge repeats from the texts it was shown is not its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Generic, TypeVar

from eval.asking.lines import LONGEST_LINE, comparable, folded, is_repeated, quotes_half
from eval.asking.reply import EMPTY, NO_VERDICT, SCORE_OUT_OF_RANGE, SEVERAL_VERDICTS, TAKEN_BACK, answer
from eval.asking.said import BOX, SIGNS, Said, own_parts
from eval.asking.verdict import Invalid, Points, Score

VerdictT = TypeVar("VerdictT")

# signs that decorate; those that deny (a cross, a tilde, a question mark) are not among them
OPENING = r"[\s*_#`\"'“‘(\[{<•=|:;–—-]*"
CLOSING = r"[\s*_`\"'”’)\]}>.,;:!=|–—-]*"

NOUNS = (
    *("verdict", "decision", "answer", "choice", "preference", "judgement", "judgment", "output", "conclusion"),
    *("result", "winner", "selection"),
)
# a word by which the lines below an announced verdict may weigh it again
_WEIGHED = re.compile(
    r"\b(?:but|however|although|though|or|either|neither|both|unless|doubt\w*|unsure|sure|uncertain|not|who)\b|n['’]t\b",
    re.IGNORECASE,
)


def line_of(label: str) -> re.Pattern[str]:
    """A line that holds the label and nothing else, or calls it the verdict: "My final verdict is LABEL."

    ``label`` is a regular expression; the groups ``says`` and ``tail`` are what stands before and behind it.
    """
    says = rf"(?:my\s+|the\s+)?(?:final\s+)?(?:{'|'.join(NOUNS)})(?:\s+is\b|\s*[*_]*\s*[:=|–—-]){OPENING}"
    so = r"(?:(?:so|thus|hence|therefore|overall)\b\W{0,3})?"
    return re.compile(rf"{OPENING}{so}(?P<says>{says})?(?:{label})(?P<tail>{CLOSING})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Label(Generic[VerdictT]):
    """A place that says a verdict."""

    place: int
    verdict: VerdictT | Invalid
    announced: bool  # it calls it the verdict
    heading: bool = False  # it ends with a colon
    formal: bool = False  # a statement, or an announced line of the judge's own, which may stand anywhere
    doubted: bool = False  # it may be meant otherwise


@dataclass(frozen=True, slots=True)
class Grammar(Generic[VerdictT]):
    """The verdict is the last line that matches ``line`` and nothing stands below it; or a line that calls it the
    verdict, a box, or one of the ``fields`` of a JSON object or a tag, wherever that stands.

    ``verdict`` says what a match means, Invalid for words that were not offered. ``spelled``: the verdicts as the
    prompt asks for them. ``sections``: what headings without a colon say, in order, above what is written of each text.
    ``leads``: the verdict may be the first line, too; ``takes_back``: the lines below a verdict may mean another one.
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
    takes_back: Callable[[VerdictT | Invalid, Sequence[str]], bool] = lambda verdict, below: any(
        map(TAKEN_BACK.search, below)
    )
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
        """The verdict of a reply. ``shown`` are the texts that the judge had before it: what it repeats from there is
        not its own."""
        text = answer(reply)
        if not text.strip():
            return Invalid(EMPTY)
        parts = own_parts(text, self.fields, shown, self.line.fullmatch)
        if self.alone and len(parts) == 1 and isinstance(parts[0], str) and (match := self.alone.fullmatch(parts[0])):
            return self.verdict(match)
        labels = [label for label in self._labels(parts, shown) if label.announced or not label.heading]
        firm = [label for label in labels if not label.doubted]
        if not firm:
            return Invalid(NO_VERDICT)
        last = next((label for label in reversed(firm) if label.formal), firm[-1])
        others = [label for label in labels if label is not last]
        if self.once and others:
            return Invalid(SEVERAL_VERDICTS)
        lines = [part if isinstance(part, str) else "" for part in parts]
        below = [line for line in lines[last.place + 1 :] if not SIGNS.fullmatch(line)]
        ends = not below and not last.heading
        if not (ends or last.formal or (self.leads and firm[0].place == 0)):
            return Invalid(NO_VERDICT)
        headings = self._are_sections([label for label in others if not label.announced])
        unlike = [label for label in others if label.verdict != last.verdict]
        if any(label.announced or not headings for label in unlike):
            return Invalid(NO_VERDICT if all(label.doubted for label in unlike) else SEVERAL_VERDICTS)
        weighed = bool(lines[last.place]) and last.formal and any(map(_WEIGHED.search, below))
        if not ends and (weighed or self.takes_back(last.verdict, below if last.formal else lines[1:])):
            return Invalid(SEVERAL_VERDICTS)
        return last.verdict

    def _labels(self, parts: Sequence[str | Said], shown: Sequence[str]) -> Iterator[Label[VerdictT]]:
        lines = [part if isinstance(part, str) else "\0" for part in parts]
        for place, part in enumerate(parts):
            if isinstance(part, Said):
                yield Label(place, self._said(part), announced=True, formal=True, doubted=part.doubted)
                continue
            match = self.line.fullmatch(part) if len(part) < LONGEST_LINE else None
            if match and not quotes_half(part) and not (shown and is_repeated(lines, place, shown)):
                said = match.groupdict()
                announced, heading = bool(said.get("says")), ":" in said.get("tail", "")
                led_in = place > 0 and lines[place - 1].endswith(":")
                own = not led_in and not any(folded(part) in comparable(text) for text in shown)
                yield Label(place, self.verdict(match), announced, heading, formal=announced and own and not heading)

    def _are_sections(self, bare: Sequence[Label[VerdictT]]) -> bool:
        """One for each text, in their order, with something written between them; the verdict comes further down."""
        apart = all(below.place > above.place + 1 for above, below in pairwise(bare))
        return bool(bare) and [label.verdict for label in bare] == list(self.sections) and apart

    def _said(self, part: Said) -> VerdictT | Invalid:
        value = part.value
        if self.number and isinstance(value, (int, float)) and not isinstance(value, bool):
            return self.number(value)
        forms = [self.alone or self.line, self.line if part.name == BOX else None]
        matches = (form.fullmatch(value.strip()) for form in forms if form and isinstance(value, str))
        return next((self.verdict(match) for match in matches if match), Invalid(NO_VERDICT))


# the points that a judge gives by a rubric, "Score: 4"

# a word that turns from the answer above it
TURN = (
    r"wait|actually|instead|rather|second|(?:on|upon)\s+\w*\s*(?:thought|reflection)|reconsider\w*|chang\w+|mistaken?"
    r"|correction|revis\w+|scratch|sorry|wrong"
)

_TURN = re.compile(rf"\b(?:{TURN})\b", re.IGNORECASE)
_NUMBER = r"-?(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,3})?"
_POINTS = (
    rf"(?P<points>{_NUMBER})(?:\s*/\s*(?P<of>{_NUMBER})|\s+(?:points?\s+)?out\s+of\s+(?P<out_of>{_NUMBER}))?"
    r"(?:\s*points?)?"
)
_SCORE = re.compile(
    r"[\s*_#`\"'“‘(\[{•|>]*(?:(?:so|thus|hence|therefore)\b\W{0,3})?(?:my\s+|the\s+)?"
    r"(?:(?:total|final|overall)\s+)*(?:score|points)\s*[*_]*\s*(?:[:=]|is\b)"
    rf"[\s*_`\"'“‘(\[{{<]*{_POINTS}[\s*_`\"'”’)\]}}>.,;:!=|–—-]*",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"[\s*_`\"'“‘(\[{{<]*{_POINTS}[\s*_`\"'”’)\]}}>.]*", re.IGNORECASE)


def points_up_to(highest: int) -> Grammar[Points]:
    """A grammar of 0 to ``highest`` points; those of another scale are out of range. One line says them, the last, or
    the first where no other number follows; or the reply is a number and nothing else."""

    def on_scale(points: float) -> Points:
        return Score(float(points)) if 0 <= points <= highest else Invalid(SCORE_OUT_OF_RANGE)

    def verdict(line: re.Match[str]) -> Points:
        scale = line["of"] or line["out_of"]
        return on_scale(float(line["points"]) if scale is None or float(scale) == highest else inf)

    return Grammar(
        _SCORE,
        verdict,
        {f"Score: {points}": Score(float(points)) for points in range(highest + 1)},
        fields=("score", "total_score", "total", "points"),
        leads=True,
        takes_back=_other_points,
        once=True,
        alone=_ALONE,
        number=on_scale,
    )


def _other_points(points: Points, below: Sequence[str]) -> bool:
    """True when another number follows, or a word that takes back the first."""
    own = {f"{points.value:g}"} if isinstance(points, Score) else set()
    return any(_TURN.search(line) or {*re.findall(r"(?<![\w.])[0-9]+", line)} - own for line in below)
