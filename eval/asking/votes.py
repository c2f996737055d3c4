"""Reading a reply that votes on numbered rules: one JSON object with a word for each number.

A reply that can be read in two ways is invalid. In other replies, only rules without a usable word have no vote.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from eval.asking.lines import folded
from eval.asking.reading import TURN
from eval.asking.reply import (
    CUT_OFF,
    EMPTY,
    FENCE_LINE,
    NO_VERDICT,
    NOT_OFFERED,
    QUOTE_LINE,
    SEVERAL_VERDICTS,
    clean,
    closing_brace,
)
from eval.asking.verdict import Answer, Given, Invalid, Verdict, Votes
from pearl.text.answers.reasoning import without_reasoning

MISSING = "missing_vote"  # the reply has no word for the rule
SHIFTED = "shifted_numbers"  # numbers that were not asked for, and none for rules that were: they may be off by one
TEXT_AROUND = "text_around"  # where nothing but the object is allowed

WORDS: Mapping[str, Verdict] = {
    "a": Given(Answer.A),
    "b": Given(Answer.B),
    "both": Given(Answer.BOTH),
    "neither": Given(Answer.NEITHER),
    "none": Given(Answer.NOT_APPLICABLE),
    "null": Given(Answer.NOT_APPLICABLE),
    "n/a": Given(Answer.NOT_APPLICABLE),
    "not applicable": Given(Answer.NOT_APPLICABLE),
}
MOST_OBJECTS = 64  # a reply with more is no list of votes

_NUMBER = re.compile(r"\s*([0-9]{1,4})\s*")
# as JSON or Python writes it, or with keys and words in no quotation marks
_PAIR = re.compile(
    r"""\s*(?P<mark>["']?)(?P<key>[^\s"'{}:,\[\]][^"'{}:,\[\]]{0,60})(?P=mark)\s{0,9}:\s*(?P<word>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
    r"""|\[[^\[\]{}]*\]|\{[^{}]*\}|[\w./-]+(?:\s[\w./-]+)*)\s*(?:,|(?=\})|(?P<cut>\Z))""",
    re.DOTALL,
)
_CLOSES = re.compile(r"\s*\}")
_UNDONE = re.compile(
    rf"\b(?:{TURN}|but|however|(?:for\s+)?example|e\.g|can\s?not|unable|refuse|decline)\b|n['’]t\b", re.IGNORECASE
)
# in front of votes, where reasons say "the second text", "but" and "doesn't": a refusal, or an object that is led in as
# an example or denied
_UNMEANT = re.compile(
    r"\bI(?:\s+am|['’]m)?(?:\s+\w+)?\s+(?:can\s?not|can['’]t|won['’]t|unable|not\s+able|refuse|decline)\b"
    r"|(?:\b(?:example|not|never|can\s?not)\b|\be\.g\b\.?|n['’]t\b)[^.!?\n]{0,200}(?::\s*)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Object:
    """The words for each number in an object of a reply, and where it stands; ``unfinished``: the reply ends in it."""

    words: Mapping[int, Set[str]]
    start: int
    end: int
    other_keys: int
    unfinished: bool


def read_votes(
    reply: str, count: int, shown: Sequence[str] = (), *, alone: bool = False, salvage: bool = False
) -> Votes | Invalid:
    """Parse the votes on rules 1 to ``count``, in that order. ``shown``: the texts that the judge was shown.

    ``alone``: text around the JSON object makes the reply invalid. ``salvage``: if the reply ends inside its object,
    the complete votes count.
    """
    text = QUOTE_LINE.sub("", clean(without_reasoning(reply)))
    if not text.strip():
        return Invalid(EMPTY)
    sources = [folded(clean(text_shown)) for text_shown in shown]
    every = list(islice(_objects(text), MOST_OBJECTS + 1))
    voting = [part for part in every if not any(folded(text[part.start : part.end]) in source for source in sources)]
    if not voting or len(every) > MOST_OBJECTS:
        return Invalid(NO_VERDICT)
    last = voting[-1]
    if last.unfinished and not salvage:
        return Invalid(CUT_OFF)
    words = last.words
    if any(part.words != words for part in voting):
        return Invalid(SEVERAL_VERDICTS)
    between = zip([0, *(part.end for part in voting)], [*(part.start for part in voting), len(text)], strict=True)
    *in_front, behind = (FENCE_LINE.sub("", text[start:end]) for start, end in between)
    beside = any(re.search(r"\w", part) for part in (*in_front, behind))
    if beside and alone:
        return Invalid(TEXT_AROUND)
    if _UNDONE.search(behind) or any(map(_UNMEANT.search, in_front)):
        return Invalid(SEVERAL_VERDICTS)
    asked, others = range(1, count + 1), [number for number in words if not 1 <= number <= count]
    if others and not words.keys() >= set(asked):
        return Invalid(SHIFTED)
    absent = Invalid(CUT_OFF if last.unfinished else MISSING)
    by_rule = tuple(_vote(words[number]) if number in words else absent for number in asked)
    return Votes(by_rule, text_around=beside, other_keys=len(others) + last.other_keys)


def _vote(words: Set[str]) -> Verdict:
    """The vote that all words given for a rule stand for; Invalid if they differ."""
    votes = {WORDS.get(word, Invalid(NOT_OFFERED)) for word in words}
    return votes.pop() if len(votes) == 1 else Invalid(SEVERAL_VERDICTS)


def _objects(text: str) -> Iterator[_Object]:
    """Yield the outermost objects with numbers as keys; what cannot be read between braces is none."""
    start = text.find("{")
    while start >= 0:
        pairs, place = [], start + 1
        while pair := _PAIR.match(text, place):
            place = pair.end()
            pairs += [] if pair["cut"] is not None else [pair]  # what a reply ends in may be half a word
        closes, words = _CLOSES.match(text, place), defaultdict[int, set[str]](set)
        for pair in pairs:
            if number := _NUMBER.fullmatch(pair["key"]):
                words[int(number[1])].add(folded(pair["word"]).strip(" .*_`'\"“”"))
        end = closes.end() if closes else closing_brace(text, start)
        if words and (closes or "}" not in text[place:]):
            others = sum(_NUMBER.fullmatch(pair["key"]) is None for pair in pairs)
            yield _Object(words, start, end, others, not closes)
        start = text.find("{", end)
