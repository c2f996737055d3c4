"""Reading an answer on a scale: "Answer: Yes", "Answer: Somewhat exhibits", "Answer: 7", "Answer: 0.7".

The answer stands behind its announcement, wherever that is, or is a line of its own, the first or the last; what comes
after it must not take it back. Words and numbers within sentences say nothing, and a reply that can be read in two ways
is invalid. So is a number that is none of the scale: 70 is no probability, 0.5% may be meant as 0.5 or as 0.005, 3/5 is
of another scale than 1 to 10. 70% and 7/10 are probabilities.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.asking import reply as replies
from eval.asking.lines import LONGEST_LINE, folded, is_repeated, quotes_half
from eval.asking.reply import TAKEN_BACK, clean
from eval.asking.said import SIGNS, Said, own_parts
from eval.asking.verdict import Invalid, Points, Score

FIELDS = ("answer", "final_answer", "verdict", "label", "rating", "score", "probability", "estimate")
LARGEST_WHOLE = 100  # that a probability may be said to be out of
MOST_ANSWERS = 50  # lines that look like one; a reply with more says nothing, and takes long to compare

_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # with these it is not read as it is written

# signs that decorate; those that deny, or change a number, are not among them
_OPENING = r"[\s*_#`\"'“‘(\[•|]*"
_BEHIND = r"[\s*_`\"'”’)\]|]*"
_SAYS = re.compile(
    r"[\s*_#`\"'“‘(\[•|–—-]*(?:(?:so|thus|hence|therefore)\b\W{0,3})?(?:my\s+|the\s+)?(?:final\s+|overall\s+)?"
    r"(?P<noun>answer|verdict|label|rating|score|probability|estimate|judge?ment)(?:\s+(?:estimate|rating|score|label))?"
    rf"(?P<sign>\s*[*_`\"]*\s*[:=]|\s+is\b:?){_OPENING}",
    re.IGNORECASE,
)
_ENUMERATED = re.compile(r"[0-9]+[.)]\s")

_NUMBER = r"-?(?:[0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})"
_SCORE = re.compile(
    rf"(?P<number>{_NUMBER})(?:\s*(?P<percent>%)|\s*/\s*(?P<of>{_NUMBER})|\s+out\s+of\s+(?P<out_of>{_NUMBER}))?"
    r"(?![\w%/])(?![.,][0-9])",
    re.IGNORECASE,
)
# between an answer and more about it; then it is not the answer that goes on
_APART = re.compile(rf"{_BEHIND}(?:[.;,:!]|\s[–—-])[\s*_`\"'”’)\]]|\s*[*_]*\s+\(")
_NOT_REALLY = re.compile(r"\bnot\s+(?:really|at\s+all|quite)\b", re.IGNORECASE)  # of a yes
_ANOTHER = re.compile(
    rf"\b(?:say|be|is|give|giving|rate|rating|score|probability|answer|to)\b[^.\n0-9]{{0,20}}(?P<number>{_NUMBER})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """An answer and what follows it on its line; ``score`` is None of an announcement without one."""

    score: float | None
    rest: str
    announced: bool
    doubted: bool = False  # it may be meant otherwise


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from ``lowest`` to ``highest``; or ``words`` in their place, one after the other, each with the regular
    expression of what counts as saying it.

    Raises ValueError for a scale whose own answers cannot be read as the prompt asks for them.
    """

    lowest: float
    highest: float
    words: tuple[tuple[str, re.Pattern[str]], ...] = ()

    def __post_init__(self) -> None:
        for score in self.scores or (self.lowest, self.highest):
            if (other := self.read(f"Answer: {self.spelled(score)}")) != Score(score):
                raise ValueError(f"The scale reads {other} where a reply says {self.spelled(score)!r}.")

    def without_bounds(self, text: str) -> str:
        """The text without the scale's own bounds, as in "on a scale of 1 to 10", which are no answers."""
        lowest, highest = (re.escape(f"{bound:g}") + r"(?:\.0)?" for bound in (self.lowest, self.highest))
        return re.sub(rf"(?<![\w.]){lowest}\s*(?:to|and|[–—-])\s*{highest}\b(?!\.[0-9])", " ", text)

    @property
    def scores(self) -> Mapping[float, re.Pattern[str]]:
        """The pattern that says each score; none where scores are numbers."""
        return {self.lowest + place: pattern for place, (_, pattern) in enumerate(self.words)}

    def spelled(self, score: float) -> str:
        return self.words[int(score - self.lowest)][0] if self.words else f"{score:g}"

    def read(self, reply: str, shown: Sequence[str] = ()) -> Points:
        """The score of a reply. ``shown`` are the texts that the judge had before it: a line that it repeats from there
        is not its own."""
        if _DIRECTION.search(reply):
            return Invalid(replies.NO_VERDICT)
        text = replies.answer(reply)
        if not text.strip():
            return Invalid(replies.EMPTY)
        parts = _joined(own_parts(text, FIELDS, shown, lambda line: _stated(line, self)))
        lines = [part if isinstance(part, str) else "\0" for part in parts]
        answers = [(place, answer) for place, part in enumerate(parts) if (answer := _stated(part, self))]
        if len(answers) > MOST_ANSWERS:
            return Invalid(replies.SEVERAL_VERDICTS)
        answers = [(place, answer) for place, answer in answers if not _quoted(lines, place, shown)]
        ends = max((place + 1 for place, line in enumerate(lines) if not SIGNS.fullmatch(line)), default=0)
        if any(answer.announced for _, answer in answers):
            answers = [(place, answer) for place, answer in answers if answer.announced]
        elif not answers or (answers[0][0] > 0 and answers[-1][0] < ends - 1):
            return Invalid(replies.NO_VERDICT)  # what is not announced stands on the first line or the last
        firm = [(place, answer) for place, answer in answers if not answer.doubted]
        if not firm or any(answer.score != firm[-1][1].score for _, answer in answers if answer.doubted):
            return Invalid(replies.NO_VERDICT)
        place, last = firm[-1]
        return _agreed(
            [answer for _, answer in firm], self, last.rest, [line for line in lines[place + 1 :] if line != "\0"]
        )


def _joined(parts: Sequence[str | Said]) -> list[str | Said]:
    """Join each announcement that stands alone with the line below it, or leave it to the statement there."""
    joined: list[str | Said] = []
    for part in parts:
        above = joined[-1] if joined else None
        alone = isinstance(above, str) and len(above) < LONGEST_LINE and _SAYS.fullmatch(above.rstrip(" *_`$([\"'"))
        if alone and isinstance(part, Said):
            joined[-1] = part
        elif alone and isinstance(part, str) and not _ENUMERATED.match(part):
            joined[-1] = f"{above} {part}"
        else:
            joined.append(part)
    return joined


def _stated(line: str | Said, scale: Scale) -> _Statement | None:
    """None where a line is no answer at all."""
    if isinstance(line, Said):
        said = _stated(_spelled(line.value), scale) or _Statement(None, "", True)
        return _Statement(None if said.rest else said.score, "", True, line.doubted)
    if quotes_half(line):
        return None
    start = line[:LONGEST_LINE]
    announced = _SAYS.match(start)
    place = announced.end() if announced else len(start) - len(start.lstrip(" \t*_#`\"'“‘([•|"))
    if score_and_end := _read(start, place, scale):
        score, end = score_and_end
        rest = line[end:]
        if not rest.strip(" \t*_`\"'”’)]|.,;:!"):
            return None if not announced and ":" in rest else _Statement(score, "", announced is not None)
        if announced and _APART.match(rest):
            return _Statement(score, rest, True)
    unread = announced is not None and announced["noun"].casefold() == "answer" and ":" in announced["sign"]
    return _Statement(None, "", True) if unread else None


def _read(line: str, place: int, scale: Scale) -> tuple[float, int] | None:
    """The score that stands there, and where it ends; infinity for a number that is of no such scale."""
    for score, word in scale.scores.items():
        if match := word.match(line, place):
            return score, match.end()
    number = None if scale.words else _SCORE.match(line, place)
    if number is None:
        return None
    value, whole = float(number["number"]), float(number["of"] or number["out_of"] or scale.highest)
    if number["percent"]:
        sure = scale.highest == 1 and (value == 0 or value >= 1)
        value = value / 100 if sure else math.inf
    elif whole != scale.highest:
        counted = value.is_integer() and whole.is_integer() and 0 < whole <= LARGEST_WHOLE
        value = value / whole if scale.highest == 1 and counted else math.inf
    return value, number.end()


def _quoted(lines: Sequence[str], place: int, shown: Sequence[str]) -> bool:
    """Repeated beside its neighbour, or led in by a colon."""
    if is_repeated(lines, place, shown):
        return True
    led_in = place > 0 and lines[place - 1].endswith(":")
    return led_in and any(folded(lines[place]) == folded(clean(line)) for text in shown for line in text.splitlines())


def _agreed(answers: Sequence[_Statement], scale: Scale, rest: str, below: Sequence[str]) -> Points:
    """The score of the answers, if all say the same and nothing behind the last takes it back."""
    scores = {answer.score for answer in answers}
    if len(scores) > 1:
        return Invalid(replies.SEVERAL_VERDICTS)
    (score,) = scores
    if score is None:
        return Invalid(replies.NOT_OFFERED)
    text = "\n".join((rest, *below))
    # another answer that follows: a label anywhere, a number on the same line, or one announced as an answer
    if scale.words:
        others = any(word.search(text) for other, word in scale.scores.items() if other != score)
        others = others or bool(score and _NOT_REALLY.search(rest))
    else:
        numbers = re.findall(_NUMBER, scale.without_bounds(rest))
        numbers += [other["number"] for line in below for other in _ANOTHER.finditer(scale.without_bounds(line))]
        others = any(float(number) != score for number in numbers)
    if others or TAKEN_BACK.search(text):
        return Invalid(replies.SEVERAL_VERDICTS)
    return Score(float(score)) if scale.lowest <= score <= scale.highest else Invalid(replies.SCORE_OUT_OF_RANGE)


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, float):
        return f"{value:.9f}"
    return str(value) if isinstance(value, (str, int)) else ""


def _words(patterns: Mapping[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((word, re.compile(rf"\b{pattern}", re.IGNORECASE)) for word, pattern in patterns.items())


_NO = r"no\b(?!\s+(?!(?:it|this|that|the|i|is|there)\b)[a-z])"  # and not the one of "no rhymes"
_EXHIBITS = r"\s+exhibits?(?:\s+(?:the|this)\s+(?:writing\s+)?style)?\b"
YES_NO = Scale(0, 1, _words({"No": _NO, "Yes": r"yes\b"}))
EXHIBIT_WORDS = {
    "Does not exhibit": rf"(?:does\s+not|doesn['’]t){_EXHIBITS}",
    "Somewhat exhibits": rf"somewhat{_EXHIBITS}",
    "Clearly exhibits": rf"clearly{_EXHIBITS}",
}
EXHIBITS = Scale(1, 3, _words(EXHIBIT_WORDS))
