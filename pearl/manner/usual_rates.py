"""The measure that a person's rates are held against: many authors, or a model's drafts for the same requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pearl.manner.rates import Counts
from pearl.manner.reference import Reference, common_words
from pearl.manner.traits import TRAITS
from pearl.manner.words import word_counts

LEAST_DRAFTS = 20
OTHER_WORDS = ""  # stands for all words outside the vocabulary
# Each of 1,753 authors of commits, chat and mail has at least 0.39 of their words among the common ones, 0.34 in their
# first five texts; short texts in German, French, Spanish, Italian, Danish and Dutch have 0.12 to 0.24.
LEAST_KNOWN, LEAST_WORDS = 0.3, 20
# Of each author's texts of eight words or more at most a fifth have fewer: a history with more is of two languages.
MIXED, LEAST_WORDS_OF_TEXT = 0.25, 8


@dataclass(frozen=True, slots=True)
class Bounds:
    """A usual rate, and the ends that a rate must lie beyond to be unusual."""

    usual: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class UsualRates:
    """``source`` names it in words. ``words`` are counts; with a ``vocabulary``, others are not compared."""

    source: str
    traits: Mapping[str, Bounds]
    words: Mapping[str, float]
    vocabulary: frozenset[str] | None

    @classmethod
    def of_authors(cls, reference: Reference) -> UsualRates:
        """Unusual is what lies beyond the middle half of authors."""
        words = {word: spread.mean * reference.word_total / 100 for word, spread in reference.words.items()}
        return cls(
            f"{reference.authors:,} authors",
            {name: Bounds(spread.mean, spread.low, spread.high) for name, spread in reference.traits.items()},
            words | {OTHER_WORDS: max(0.0, reference.word_total - sum(words.values()))},
            frozenset(reference.words),
        )

    @classmethod
    def of_drafts(cls, drafts: Sequence[str]) -> UsualRates:
        """Unusual is what lies beyond the 95% interval of the drafts' rate."""
        intervals = zip(TRAITS, Counts.of(drafts).intervals(), strict=True)
        bounds = {trait.name: Bounds(it.value, it.low, it.high) for trait, it in intervals if it is not None}
        return cls(f"{len(drafts):,} drafts of the model for the same requests", bounds, word_counts(drafts), None)

    def languages_apart(self, texts: Sequence[str]) -> Sequence[bool]:
        """True for each text in a language that the authors write. All are where fewer than a quarter are in another:
        commands and lists have few common words in any language."""
        counts = [word_counts([text]) for text in texts]
        long = [of_text for of_text in counts if of_text.total() >= LEAST_WORDS_OF_TEXT]
        if sum(not self._known(of_text) for of_text in long) < MIXED * len(long) or not long:
            return [True] * len(texts)
        return [self._known(of_text) for of_text in counts]

    def _known(self, counts: Mapping[str, int]) -> bool:
        if self.vocabulary is None:
            return True
        known = common_words()
        return sum(times for word, times in counts.items() if word in known) >= LEAST_KNOWN * sum(counts.values())

    def reads(self, counts: Mapping[str, int]) -> bool:
        """True when the words may be of the language that the authors write; drafts are in the person's own."""
        return sum(counts.values()) < LEAST_WORDS or self._known(counts)

    def comparable(self, counts: Mapping[str, int]) -> dict[str, float]:
        """The counts of words with those outside the vocabulary summed."""
        if self.vocabulary is None:
            return dict(counts)
        inside = {word: float(times) for word, times in counts.items() if word in self.vocabulary}
        return inside | {OTHER_WORDS: sum(counts.values()) - sum(inside.values())}
