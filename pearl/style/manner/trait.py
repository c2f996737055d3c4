"""The declaration of a trait of texts: what is counted, and relative to what."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pearl.style.manner.writing import Writing
from pearl.text.words import Spot, character_start

Find: TypeAlias = Callable[[Writing], Sequence[Spot]]

EXCERPT = 80  # characters of a text that show a trait


@dataclass(frozen=True, slots=True)
class TraitUnit:
    """The unit of a trait's rate, such as per 100 words."""

    name: str
    base: Callable[[Writing], int]  # counts it in a text
    scale: float = 1.0
    share: bool = False  # found at most once in each unit

    def shown(self, value: float) -> str:
        """Describe a rate in words: '12% of texts', '1.3 per 100 words', '14.2 words per sentence'."""
        if self.share:
            return f"{_digits(100 * value)}% of {self.name}"
        return f"{_digits(value)} {self.name}"

    def ends(self, low: float, high: float) -> str:
        """Describe an interval by its ends: '0.8 to 1.7', '10 to 25%'."""
        if self.share:
            return f"{_digits(100 * low)} to {_digits(100 * high)}%"
        return f"{_digits(low)} to {_digits(high)}"


SHARE_OF_TEXTS = TraitUnit("texts", lambda writing: 1, share=True)
SHARE_OF_SENTENCES = TraitUnit("sentences", lambda writing: len(writing.sentences), share=True)
PER_100_WORDS = TraitUnit("per 100 words", lambda writing: len(writing.words), scale=100.0)
WORDS_PER_TEXT = TraitUnit("words per text", lambda writing: 1)
WORDS_PER_SENTENCE = TraitUnit("words per sentence", lambda writing: len(writing.sentences))


@dataclass(frozen=True, slots=True)
class Trait:
    """A trait of texts, such as dashes, that is found by rule and counted."""

    name: str
    label: str
    measures: str  # what is counted, as a sentence
    unit: TraitUnit
    find: Find
    does: str  # what a person does who has more or less of it than others: "use more|fewer dashes"

    @property
    def more(self) -> str:
        return re.sub(r"(\w+)\|\w+", r"\1", self.does)

    @property
    def less(self) -> str:
        return re.sub(r"\w+\|(\w+)", r"\1", self.does)

    def counts(self, writing: Writing) -> tuple[int, int]:
        """Return how often the trait is found in a text, and the base of its rate."""
        return len(self.find(writing)), self.unit.base(writing)

    def excerpt(self, writing: Writing) -> str:
        """Return the words around the first place where the trait is found; the text's beginning if there is none."""
        spots = self.find(writing)
        start, end = spots[0] if spots else (0, 0)
        return excerpt(writing.text, start, end)


def excerpt(text: str, start: int, end: int) -> str:
    """Return at most 80 characters around a span, on one line, with '…' where the text goes on."""
    around = max(0, EXCERPT - (end - start))
    begin = max(0, start - around // 2) if len(text) > EXCERPT else 0
    stop = min(len(text), begin + EXCERPT)
    begin = character_start(text, max(0, stop - EXCERPT))
    stop = character_start(text, stop)
    part = " ".join(text[begin:stop].split())
    return ("…" if text[:begin].strip() else "") + part + ("…" if text[stop:].strip() else "")


def matches(pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> Find:
    """Return a function that finds every match of a pattern outside of web addresses."""
    compiled = re.compile(pattern, flags)
    return lambda writing: [match.span() for match in compiled.finditer(writing.lettered)]


def any_match(pattern: str, flags: re.RegexFlag = re.IGNORECASE, least: int = 1) -> Find:
    """Return a function that finds a pattern's first match in texts with at least ``least`` matches."""
    every = matches(pattern, flags)

    def first(writing: Writing) -> Sequence[Spot]:
        spots = every(writing)
        return spots[:1] if len(spots) >= least else []

    return first


def any_of(words: frozenset[str]) -> Find:
    """Return a function that finds every word of a set."""
    return lambda writing: [
        spot for spot, word in zip(writing.words, writing.lower_words, strict=True) if word in words
    ]


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}" if value >= 1 else f"{value:.2f}".rstrip("0").rstrip(".")
