"""Replies of the style ranking judge: "Output (a)" or "Output (b)", and "Score: 4" of a rubric of five points.

The answer stands on a line of its own, the last one, or the first one where nothing after it may take it back. Labels
and numbers within sentences say nothing; a reply that can be read in two ways is invalid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.asking.lines import LONGEST_LINE, is_repeated, own_lines, quotes_half
from eval.asking.reply import (
    EMPTY,
    NO_VERDICT,
    NOT_OFFERED,
    SCORE_OUT_OF_RANGE,
    SEVERAL_VERDICTS,
    clean,
    leading_object,
)
from eval.asking.verdict import Answer, Given, Invalid, Points, Score, Verdict

LOWEST, HIGHEST = 0, 5
ANSWERS = {"A": Answer.A, "B": Answer.B}
CHOICE_FIELDS = ("answer", "choice", "output", "verdict", "decision", "preference", "best")
SCORE_FIELDS = ("score", "total_score", "final_score", "total", "points")

# signs that decorate; those that deny (a cross, a tilde, a question mark) are not among them
_OPENING = r"[\s*_#`\"'“‘(\[{<•|=:;–—-]*"
_CLOSING = r"[\s*_`\"'”’)\]}>.,;:!=|–—-]*"
_ASKED = r"(?:which\s+is\s+best,\s+output\s+\(a\)\s+or\s+output\s+\(b\)\?\s*)"
_SAYS = (
    r"(?:(?:my\s+|the\s+)?(?:final\s+)?(?:verdict|decision|answer|judge?ment|choice|preference|conclusion)"
    r"(?:\s+is\b|\s*[*_]*\s*[:=–—])"
    r"|the\s+(?:best|better)(?:\s+(?:output|one|response))?\s+is\b|i\s+(?:would\s+)?(?:choose|pick|prefer|select)\b)"
)
_OUTPUT = r"(?:output|option|response)"
_CHOICE = re.compile(
    rf"{_OPENING}{_ASKED}?{_OPENING}(?:{_SAYS}{_OPENING})?"
    rf"(?:{_OUTPUT}[\s:_-]{{0,3}}\(?(?P<output>[A-E])|(?P<bare>[AB]|TIE|BOTH|NEITHER|NONE|EITHER))(?P<tail>{_CLOSING})",
    re.IGNORECASE,
)
# after an answer on the first line
_TURN = (
    r"wait|actually|instead|rather|second|(?:on|upon)\s+\w*\s*(?:thought|reflection)|reconsider\w*|chang\w+|mistaken?"
    r"|correction|revis\w+|scratch|sorry|wrong"
)
_TAKES_BACK = re.compile(rf"\b(?:{_TURN})\b", re.IGNORECASE)
_DOUBTS = re.compile(
    rf"\b(?:{_TURN}|but|though|however|other|former|latter|not|no|worse|worst|both|neither|either|tie|equal\w*)\b|n['’]t\b",
    re.IGNORECASE,
)
_NUMBER = r"-?(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,3})?"
_POINTS = (
    rf"(?P<points>{_NUMBER})(?:\s*/\s*(?P<of>{_NUMBER})|\s+(?:points?\s+)?out\s+of\s+(?P<out_of>{_NUMBER}))?"
    r"(?:\s*points?)?"
)
_SCORE = re.compile(
    r"[\s*_#`\"'“‘(\[{•|>]*(?:(?:so|thus|hence|therefore)\b\W{0,3})?(?:my\s+|the\s+)?"
    r"(?:(?:total|final|overall)\s+)*(?:score|points)\s*[*_]*\s*(?:[:=]|is\b)"
    rf"[\s*_`\"'“‘(\[{{<]*{_POINTS}{_CLOSING}",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"[\s*_`\"'“‘(\[{{<]*{_POINTS}[\s*_`\"'”’)\]}}>.]*", re.IGNORECASE)


def parse_choice(reply: str, shown: Sequence[str] = ()) -> Verdict:
    """A is Output (a), the one that stands first. ``shown`` are the texts that the judge had before it: a line that it
    repeats from there, with its neighbour, is not its own."""
    text = clean(reply)
    if not text.strip():
        return Invalid(EMPTY)
    if given := leading_object(text):
        return _choice_of_object(*given, shown)
    lines = own_lines(text, _CHOICE.fullmatch)
    labels = list(_labels(lines, shown))
    if not labels or not _leads_or_ends(labels, lines):
        return Invalid(NO_VERDICT)
    if len({label.word for label in labels}) > 1:
        return Invalid(SEVERAL_VERDICTS)
    word = labels[0].word
    if labels[-1].place != len(lines) - 1 and _may_be_taken_back(word, lines[1:]):
        return Invalid(SEVERAL_VERDICTS)
    return _verdict(word)


@dataclass(frozen=True, slots=True)
class _Label:
    place: int
    word: str


def _labels(lines: Sequence[str], shown: Sequence[str]) -> Iterator[_Label]:
    """Lines that hold a label and nothing else; one that ends with a colon is a heading."""
    for place, line in enumerate(lines):
        found = _CHOICE.fullmatch(line) if len(line) < LONGEST_LINE else None
        if found and ":" not in found["tail"] and not quotes_half(line) and not is_repeated(lines, place, shown):
            yield _Label(place, (found["output"] or found["bare"]).upper())


def _leads_or_ends(labels: Sequence[_Label], lines: Sequence[str]) -> bool:
    return labels[0].place == 0 or labels[-1].place == len(lines) - 1


def _may_be_taken_back(word: str, rest: Sequence[str]) -> bool:
    """True when a sentence that goes on, the name of another, or a word of doubt may take the verdict back."""
    others = "".join(letter for letter in "ABCDE" if letter != word)
    named = re.compile(rf"(?i:\b{_OUTPUT}[\s:_-]{{0,3}}\(?[{others}]\b|\([{others}]\))|\b[{others}]\b")
    return rest[0][:1].islower() or any(named.search(line) or _DOUBTS.search(line) for line in rest)


def _choice_of_object(value: dict[str, Any], rest: str, shown: Sequence[str]) -> Verdict:
    said = [value[name] for name in CHOICE_FIELDS if name in value]
    lines = [text for each in said if isinstance(each, str) and (text := each.strip())]
    labels = list(_labels(lines, ()))
    if not said or len(labels) < len(said):
        return Invalid(NO_VERDICT)
    lines, word = own_lines(rest, _CHOICE.fullmatch), labels[0].word
    labels += _labels(lines, shown)
    if "{" in rest or len({label.word for label in labels}) > 1 or (lines and _may_be_taken_back(word, lines)):
        return Invalid(SEVERAL_VERDICTS)
    return _verdict(word)


def _verdict(word: str) -> Verdict:
    answer = ANSWERS.get(word)
    return Given(answer) if answer else Invalid(NOT_OFFERED)


def parse_points(reply: str, shown: Sequence[str] = ()) -> Points:
    """The one line that says the score, the last, or the first where no other number follows; or a reply that is a
    number and nothing else."""
    text = clean(reply)
    if not text.strip():
        return Invalid(EMPTY)
    if given := leading_object(text):
        return _points_of_object(*given)
    lines = own_lines(text, _SCORE.fullmatch)
    if len(lines) == 1 and (alone := _ALONE.fullmatch(lines[0])):
        return _points(alone)
    found = list(_scores(lines, shown))
    if len(found) > 1:
        return Invalid(SEVERAL_VERDICTS)
    if not found or found[0][0] not in (0, len(lines) - 1):
        return Invalid(NO_VERDICT)
    place, score = found[0]
    if place != len(lines) - 1 and _other_points(score["points"], lines[1:]):
        return Invalid(SEVERAL_VERDICTS)
    return _points(score)


def _other_points(points: str, rest: Sequence[str]) -> bool:
    return any(_TAKES_BACK.search(line) or {*re.findall(r"(?<![\w.])[0-9]+", line)} - {points} for line in rest)


def _scores(lines: Sequence[str], shown: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for place, line in enumerate(lines):
        found = _SCORE.fullmatch(line) if len(line) < LONGEST_LINE else None
        if found and not quotes_half(line) and not is_repeated(lines, place, shown):
            yield place, found


def _points(found: re.Match[str]) -> Points:
    scale = found["of"] or found["out_of"]
    if scale is not None and float(scale) != HIGHEST:
        return Invalid(SCORE_OUT_OF_RANGE)
    return _on_scale(float(found["points"]))


def _points_of_object(value: dict[str, Any], rest: str) -> Points:
    said = [value[name] for name in SCORE_FIELDS if name in value]
    if not said:
        return Invalid(NO_VERDICT)
    if len(said) > 1 or re.search(r"[0-9{]", rest) or _TAKES_BACK.search(rest):
        return Invalid(SEVERAL_VERDICTS)
    (score,) = said
    if isinstance(score, str):
        found = _ALONE.fullmatch(score)
        return _points(found) if found else Invalid(NO_VERDICT)
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return Invalid(NO_VERDICT)
    return _on_scale(score)


def _on_scale(score: float) -> Points:
    return Score(float(score)) if LOWEST <= score <= HIGHEST else Invalid(SCORE_OUT_OF_RANGE)
