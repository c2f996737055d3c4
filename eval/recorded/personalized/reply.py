"""Parsing replies of the personalised judge, ``[[A]] [[80]]``: by PEARL's rule, and by that of the published code.

The format is that of appendix A.7 of papers/personalized-judge.txt: A, B and, where it is offered, C for a tie; then a
certainty of 1 to 100 where it is asked for. The prompt may end with ``[[``, which the reply then continues.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eval.asking import reply as replies
from eval.asking.reply import Mark, clean, marks, own_words, plain
from eval.asking.said import statements
from eval.asking.verdict import Answer, Given, Invalid, Verdict
from pearl.errors import InputError

LETTERS = {"A": Answer.A, "B": Answer.B, "C": Answer.TIE}
LETTER = {answer: letter for letter, answer in LETTERS.items()}
LOWEST, HIGHEST = 1, 100
NO_ANSWER = frozenset({"TIE", "BOTH", "NEITHER", "NONE", "N/A", "NA", "A OR B", "A/B", "A AND B"})
PLACEHOLDER = "X"  # the prompt's own [[X]]
VERDICT_FIELDS = ("verdict", "answer", "choice", "preference")
CERTAINTY_FIELDS = ("certainty", "certainty_level", "confidence")

_NAMED = r"(?:(?:Answer|Response|Assistant|Option|Pair)\s+)?"
_OPENED = re.compile(rf"\s*{_NAMED}[A-Z]\s*\]")
_NUMBER = re.compile(r"(?:(?:X|certainty|confidence)(?: level)?\s*[:=]?\s*)?(\d{1,9})\s*%?", re.IGNORECASE)
_BOTH = re.compile(rf"{_NAMED}([A-Z])\s*[,;:|\s]\s*(\d{{1,9}})\s*%?")
_LETTER = re.compile(rf"{_NAMED}(\w)")
_WHOLE = re.compile(
    rf"\W*(?:(?:(?:my|final)\s+)*(?:answer|verdict|choice)(?:\s+is)?\s*:?\W*)?{_NAMED}\W*(?-i:([A-Z]))\W*"
    r"(?:(?:certainty|confidence)(?:\s+level)?(?:\s+(?:is|of))?\W*)?(\d{1,9})?\W*",
    re.IGNORECASE,
)
# a number stands for the certainty right behind the verdict, with nothing but its unit before the sentence ends
_BEHIND = re.compile(r"[\s\W]{0,20}?(?<![-.\d])(\d{1,9})(?!\s*[-–/]+\s*\d)(?!\.\d)\s*%?\s*(?:$|\n|\[\[|[\])(.,;])")
_SAID = (
    re.compile(r"(?:certainty|confidence|confident)[^.\d\n\[]{0,40}(?<![-.\d])(\d{1,9})(?!\.?\d|[/–-])", re.IGNORECASE),
    re.compile(r"(?<![-.\d–])(\d{1,9})\s*%?\s+(?:confident|certain|sure)\b", re.IGNORECASE),
)


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The form of reply that a prompt asks for: whether a tie is offered, and a certainty asked for."""

    tie: bool = False
    certainty: bool = True
    opened: bool = True  # the prompt ends with [[
    highest: int = HIGHEST  # certainty said, which counts as 100
    recorded: bool = False  # most records hold a certainty, whatever the prompt asks for

    @property
    def step(self) -> int:
        """Return the points of 100 that one step of the judge's scale of certainty stands for."""
        return HIGHEST // self.highest

    @property
    def offered(self) -> dict[str, Answer]:
        return {letter: answer for letter, answer in LETTERS.items() if self.tie or answer is not Answer.TIE}


def gold_answer(letter: Any, param: str) -> Answer:
    """The right answer that a file's letter means: A, B, or C for a tie. Raises InputError for any other value."""
    answer = LETTERS.get(letter) if isinstance(letter, str) else None
    if answer is None:
        raise InputError("must be 'A', 'B' or 'C' (a tie).", param=param)
    return answer


def parse_reply(reply: str, form: ReplyForm, shown: Sequence[str] = ()) -> Verdict:
    """Parse the answer and the certainty from a reply; Invalid unless the reply gives exactly one of the offered
    answers. ``shown``: the texts that the judge was shown; marks such as [[A]] quoted from these are ignored."""
    text = replies.answer(reply)
    if not text.strip():
        return Invalid(replies.EMPTY)
    said = statements(text, (*VERDICT_FIELDS, *CERTAINTY_FIELDS), shown)[1]
    text = own_words(text)
    if form.opened and _OPENED.match(text):
        text = "[[" + text.lstrip()
    own_marks = list(marks(text, [plain(clean(part)) for part in shown] if "[[" in text else ()))
    every = own_marks + [Mark(str(value).strip("[] "), 0) for _, value in said]
    letters = [(word, mark.end) for mark in every for word in _verdict_words(mark)]
    if not letters:  # the letter alone
        whole = _WHOLE.fullmatch(text) if len(text) < 200 and "[[" not in text else None
        if whole is None:
            return Invalid(replies.NO_VERDICT)
        return _verdict(whole[1], {int(whole[2])} if whole[2] else set(), form)
    words = {word for word, _ in letters}
    if len(words) > 1:
        return Invalid(replies.SEVERAL_VERDICTS)
    numbers = {number for mark in every for number in _numbers(mark)}
    if not numbers:  # the certainty without a mark: the number right behind the verdict, else the one called certainty
        numbers = {int(number[1]) for _, end in letters if end and (number := _BEHIND.match(text, end))}
    return _verdict(words.pop(), numbers or _called_certainty(text), form)


def _called_certainty(text: str) -> set[int]:
    return {int(number[1]) for pattern in _SAID for number in pattern.finditer(text)}


def _verdict_words(mark: Mark) -> list[str]:
    """The letter in a mark such as [[A]], or its word for no decision; empty for any other mark."""
    if mark.content == PLACEHOLDER or mark.content.isdecimal():
        return []
    if both := _BOTH.fullmatch(mark.content):
        return [both[1]]
    if letter := _LETTER.fullmatch(mark.content):
        return [letter[1]]
    return [mark.content.upper()] if mark.content.upper() in NO_ANSWER else []


def _numbers(mark: Mark) -> list[int]:
    if both := _BOTH.fullmatch(mark.content):
        return [int(both[2])]
    number = _NUMBER.fullmatch(mark.content)
    return [int(number[1])] if number else []


def _verdict(word: str, numbers: set[int], form: ReplyForm) -> Verdict:
    """Make the verdict from the answer's ``word`` and all ``numbers`` that may be its certainty."""
    answer = Answer.TIE if form.tie and word == "TIE" else form.offered.get(word)
    if answer is None:
        return Invalid(replies.NOT_OFFERED)
    if not form.certainty:
        return Given(answer)
    if len(numbers) != 1:
        return Invalid(replies.SEVERAL_CERTAINTIES if numbers else replies.NO_CERTAINTY)
    number = numbers.pop()
    on_scale = LOWEST <= number <= form.highest
    return Given(answer, number * form.step) if on_scale else Invalid(replies.CERTAINTY_OUT_OF_RANGE)


def parse_published(reply: str, form: ReplyForm) -> Verdict:
    """Parse a reply as the published code does: its first character (after ``[[``) is the answer, its first number the
    certainty. So "Based on the profile, the user is 23 years old" is answer B with certainty 23."""
    start = reply.lstrip().removeprefix("[[").lstrip()
    answer = form.offered.get(start[:1])
    number = re.search(r"[0-9]{1,9}", reply)
    if answer is None or (form.certainty and number is None):
        return Invalid(replies.NO_VERDICT)
    return Given(answer, int(number[0]) * form.step if form.certainty and number else None)
