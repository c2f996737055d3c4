"""The ends of texts: greeting, sign-off and last sentence of one text, and a person's manner to each recipient."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from statistics import median
from typing import Any, TypeAlias

from pearl.records import Document
from pearl.stats.proportions import Interval, wilson
from pearl.style.manner.trait import Find
from pearl.style.manner.writing import WORD, Writing
from pearl.text.phrases import Phrases
from pearl.text.recipients import same_recipient_key
from pearl.text.words import CLOSING_SIGNS, MARK, Spot, folded, is_question, word_spots

PHRASES = Phrases.of("pearl", "letters")
GREETING = PHRASES.compile(
    r"{greetings}(?!\w)(?:[ \t]+[^\s,،;:!.?–—-]+){0,4}?[ \t]*(?:[,،;:!.–—-]|$)", re.IGNORECASE | re.MULTILINE
)
FAREWELL = PHRASES.compile(r"(?:{before_farewells} )*{farewells}[ \t]*[,،，、.。!！–—-]*")
SIGNED = re.compile(r"(?:[-–—/~][-–—/~ \t]*)?[^\W\d_][\w.'’-]*(?:[ \t]+[^\W\d_][\w.'’-]*){0,2}")
NAMED = re.compile(r"(?:[-–—/~][-–—/~ \t]*)?(?:[^\W\d_a-z][\w.'’-]*(?:[ \t]+|$)){1,3}")
FORMULA_WORDS, TAIL_LINES = 6, 3
READ = 200  # characters of a text's end
LEAST_TO_ONE = 20  # to one recipient
MOST_RECIPIENTS = 10  # those with the most texts
MOSTLY = 0.8  # share of texts from which a person "does" something; below one less this they do not
SAME_WORDS = 0.5  # share of the texts with a greeting that begin with the same one, for it to be quoted

Token: TypeAlias = tuple[str, Spot]  # a word in small letters, and its place


def greeting(writing: Writing) -> Sequence[Spot]:
    """Find the greeting at the beginning, up to the mark or line end that closes it."""
    start = writing.lines[0][0] if writing.lines else 0
    met = GREETING.match(writing.text, start)
    return [met.span()] if met else []


def sign_off(writing: Writing) -> Sequence[Spot]:
    """Find the closing words and the name under them: a known formula, a short line with a comma above a name, or a
    name as the last paragraph.

    The first line of a text is never part of the sign-off.
    """
    tail = writing.lines[1:][-TAIL_LINES:]
    for start, end in tail:
        line = writing.text[start:end]
        under = [MARK.sub("x", writing.text[begin:stop]) for begin, stop in tail if begin > start]
        formula = FAREWELL.fullmatch(line) is not None
        short = line.endswith((",", "،", "，")) and len(line.split()) <= FORMULA_WORDS and bool(under)
        if (formula or short) and all(SIGNED.fullmatch(name) for name in under):
            return [(start, tail[-1][1])]
    last = writing.paragraphs[-1] if len(writing.paragraphs) > 1 else (0, 0)
    return [last] if NAMED.fullmatch(MARK.sub("x", writing.text[slice(*last)])) else []


def closing_question(writing: Writing) -> Sequence[Spot]:
    """Find the last sentence, before a sign-off, if it is a question."""
    before = sign_off(writing)
    end = before[0][0] if before else len(writing.text)
    sentences = [spot for spot in writing.sentences if spot[0] < end]
    asks = sentences and is_question(writing.text[sentences[-1][0] : end].rstrip().rstrip(CLOSING_SIGNS))
    return sentences[-1:] if asks else []


def no_closing_mark(writing: Writing) -> Sequence[Spot]:
    """Find the last line, before a sign-off, if it ends with a letter or digit instead of a mark."""
    before = sign_off(writing)
    lines = [line for line in writing.lines if not before or line[0] < before[0][0]]
    last = lines[-1][1] - 1 if lines else 0
    return lines[-1:] if lines and (writing.text[last].isalnum() or MARK.match(writing.text, last)) else []


def body_end(text: str, others: Sequence[str] = ()) -> int:
    """Return the index at which the sign-off of a text begins; without one, the text's end. A sign-off has a known
    form, or it consists of words that also end two or more of ``others``, texts of the same person."""
    writing = Writing(text.replace("\r\n", " \n"))  # places stay
    formal = sign_off(writing)
    end = formal[0][0] if formal else len(text)
    own = _ending(text)
    pairs = (zip(own, _ending(other), strict=False) for other in others)
    lengths = sorted((sum(1 for _ in takewhile(_alike, both)) for both in pairs), reverse=True)
    shared = lengths[max(1, (len(lengths) - 1) // 2)] if len(lengths) > 1 else 0
    if shared > 1:
        end = min(end, _start(writing, own[shared - 1][1][0]))
    return end


def _alike(pair: tuple[Token, Token]) -> bool:
    return pair[0][0] == pair[1][0]


def _ending(text: str) -> list[Token]:
    """The last words, the very last one first."""
    return _tokens(text, max(0, len(text) - READ), len(text))[::-1]


def _tokens(text: str, start: int, end: int) -> list[Token]:
    return [
        (folded(text[start + begin : start + stop]), (start + begin, start + stop))
        for begin, stop in word_spots(WORD, text[start:end])
    ]


def _start(writing: Writing, at: int) -> int:
    """Return where the first sentence or line from ``at`` on begins; the end of the text if there is none."""
    return min((spot[0] for spot in (*writing.sentences, *writing.lines) if spot[0] >= at), default=len(writing.text))


@dataclass(frozen=True, slots=True)
class RecipientManner:
    """A person's manner of writing to one recipient: greeting, sign-off and length."""

    recipient: str
    texts: int
    greeting: Interval  # share of texts that have one
    usual_greeting: str | None  # the words, if they are mostly the same
    sign_off: Interval  # share of texts that have one
    words: int  # median of the texts' words

    @property
    def text(self) -> str:
        """Describe the manner in a line, such as 'To Nan: no greeting, a sign-off, about 40 words.'"""
        greeted = _habit("greeting", self.greeting)
        if self.usual_greeting and self.greeting.value >= MOSTLY:
            greeted += f' ("{self.usual_greeting}")'
        return f"To {self.recipient}: {greeted}, {_habit('sign-off', self.sign_off)}, about {self.words:,} words."

    def to_json(self) -> dict[str, Any]:
        intervals = {"greeting": self.greeting.to_json(), "sign_off": self.sign_off.to_json()}
        return asdict(self) | intervals | {"text": self.text}


def _habit(noun: str, share: Interval) -> str:
    if share.value >= MOSTLY:
        return f"a {noun}"
    return f"no {noun}" if share.value <= 1 - MOSTLY else f"a {noun} in {share.value:.0%} of texts"


def manners_by_recipient(documents: Sequence[Document]) -> tuple[RecipientManner, ...]:
    """Measure a person's manner to each recipient of LEAST_TO_ONE texts or more; most texts come first."""
    texts: dict[str, list[Document]] = {}
    for document in documents:
        if document.recipient is not None:
            texts.setdefault(same_recipient_key(document.recipient), []).append(document)
    most = sorted((written for written in texts.values() if len(written) >= LEAST_TO_ONE), key=len, reverse=True)
    return tuple(map(_manner, most[:MOST_RECIPIENTS]))


def _manner(documents: Sequence[Document]) -> RecipientManner:
    writings = [Writing(document.text) for document in documents]
    greetings = _found(greeting, writings)
    words, times = Counter(greetings).most_common(1)[0] if greetings else ("", 0)
    return RecipientManner(
        str(documents[-1].recipient),
        len(documents),
        _share(len(greetings), len(documents)),
        words if greetings and times / len(greetings) >= SAME_WORDS else None,
        _share(len(_found(sign_off, writings)), len(documents)),
        round(median(len(writing.words) for writing in writings)),
    )


def _found(find: Find, writings: Sequence[Writing]) -> list[str]:
    """The first place of each text that has one, on one line."""
    spots = ((writing, find(writing)) for writing in writings)
    return [" ".join(writing.text[slice(*found[0])].split()) for writing, found in spots if found]


def _share(count: int, total: int) -> Interval:
    share = wilson(count, total)
    assert share is not None, "there is at least one text"
    return share
