"""Reading a reply that votes on numbered rules: one JSON object with a word for each number.

The votes of a reply are read together, for a reply that can be read in two ways has none: two objects that differ, an
object taken from the texts, a sentence that takes it back. Within a reply that can be read, only the rules
without a usable word have an invalid vote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from pearl.answers.reasoning import without_reasoning

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

_DECODER = json.JSONDecoder(object_pairs_hook=tuple, strict=False)
_NUMBER = re.compile(r"\s*([0-9]{1,4})\s*")
# as Python writes it, or with words in no quotation marks
_LOOSE = re.compile(r"""\s*(?:["']\s*)?([0-9]{1,4})\s*(?:["']\s*)?:\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z/]+))\s*""")
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
    """Keys and values of an object in a reply, and where it stands; ``unfinished``: the reply ends inside it."""

    pairs: tuple[tuple[str, object], ...]
    start: int
    end: int
    unfinished: bool = False

    @property
    def numbered(self) -> bool:
        return any(_NUMBER.fullmatch(key) for key, _ in self.pairs)


def read_votes(
    reply: str, count: int, shown: Sequence[str] = (), *, alone: bool = False, salvage: bool = False
) -> Votes | Invalid:
    """The votes on rules 1 to ``count``, in their order. ``shown`` are the texts that the judge had before it.

    ``alone``: text around the object makes the reply invalid. ``salvage``: of a reply that ends inside its object the
    votes before the end count.
    """
    text = QUOTE_LINE.sub("", clean(without_reasoning(reply)))
    if not text.strip():
        return Invalid(EMPTY)
    sources = [folded(clean(text_shown)) for text_shown in shown]
    objects = list(_objects(text))
    own = [part for part in objects if not any(folded(text[part.start : part.end]) in source for source in sources)]
    voting = [part for part in own if part.numbered]
    if not voting or len(own) > MOST_OBJECTS:
        return Invalid(NO_VERDICT)
    last = voting[-1]
    if last.unfinished and not salvage:
        return Invalid(CUT_OFF)
    words = _by_number(last)
    if any(_by_number(part) != words for part in voting):
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
    unknown = len(others) + sum(_NUMBER.fullmatch(key) is None for key, _ in last.pairs)
    return Votes(by_rule, text_around=beside, other_keys=unknown)


def _vote(words: Sequence[str | None]) -> Verdict:
    """The vote that all words for one rule stand for."""
    spelled = ("null" if word is None else folded(word).strip(" .*_`'\"“”") for word in words)
    votes = {WORDS.get(word, Invalid(NOT_OFFERED)) for word in spelled}
    return votes.pop() if len(votes) == 1 else Invalid(SEVERAL_VERDICTS)


def _by_number(votes: _Object) -> dict[int, list[str | None]]:
    """The words for each number, "" for what is no word; the same word again is one."""
    words: dict[int, list[str | None]] = {}
    for key, value in votes.pairs:
        if number := _NUMBER.fullmatch(key):
            word = value if isinstance(value, str | None) else ""
            before = words.setdefault(int(number[1]), [])
            if word not in before:
                before.append(word)
    return words


def _objects(text: str) -> Iterator[_Object]:
    """The outermost objects of a reply, MOST_OBJECTS and one at most; what cannot be read between braces is none."""
    place = text.find("{")
    for _ in range(MOST_OBJECTS + 1):
        if place < 0:
            return
        try:
            pairs, end = _DECODER.raw_decode(text, place)
            votes: _Object | None = _Object(pairs, place, end)
        except (ValueError, RecursionError):
            votes = _loose(text, place)
        if votes:
            yield votes
        place = text.find("{", votes.end if votes else closing_brace(text, place))


def _loose(text: str, start: int) -> _Object | None:
    """An object of numbers and words that is not quite JSON, or that the reply ends inside of."""
    end = text.find("}", start)
    inside = text[start + 1 : end if end >= 0 else len(text)]
    parts = inside.split(",")
    if end < 0 or not parts[-1].strip():
        parts.pop()  # what a reply ends in may be half a word; a comma may stand behind the last vote
    matches = [_LOOSE.fullmatch(part) for part in parts]
    if not all(matches) or not matches:
        return None
    pairs = tuple((match[1], match[2] or match[3] or match[4] or "") for match in matches if match)
    return _Object(pairs, start, end + 1 if end >= 0 else len(text), unfinished=end < 0)
