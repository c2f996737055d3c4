"""The usual rates to compare a person's rates with: of many authors, or of a model's drafts for the same requests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pearl.style.manner.rates import Counts
from pearl.style.manner.reference import Reference, common_words
from pearl.style.manner.traits import TRAITS
from pearl.style.manner.writing import Writing

LEAST_DRAFTS = 20
OTHER_WORDS = ""  # stands for all words outside the vocabulary
# Each of 1,753 authors of commits, chat and mail has at least 0.39 of their words among the common ones, 0.34 in their
# first five texts; short texts in German, French, Spanish, Italian, Danish and Dutch have 0.12 to 0.24.
LEAST_KNOWN, LEAST_WORDS = 0.3, 20
# Of each author's texts of eight words or more at most a fifth have fewer: a history with more is of two languages.
MIXED, LEAST_WORDS_OF_TEXT = 0.25, 8


@dataclass(frozen=True, slots=True)
class Bounds:
    """A trait's usual rate, and the range outside of which a person's rate is unusual."""

    usual: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class UsualRates:
    """Usual rates of traits and words, to compare a person's rates with."""

    source: str  # whose rates they are, in words
    traits: Mapping[str, Bounds]
    words: Mapping[str, float]  # counts
    vocabulary: frozenset[str] | None  # the words that are compared; None: all

    @classmethod
    def of_authors(cls, reference: Reference) -> UsualRates:
        """Take the rates of many authors; a person's rate outside the middle half of the authors is unusual."""
        words = {word: spread.mean * reference.word_total / 100 for word, spread in reference.words.items()}
        return cls(
            f"{reference.authors:,} authors",
            {name: Bounds(spread.mean, spread.low, spread.high) for name, spread in reference.traits.items()},
            words | {OTHER_WORDS: max(0.0, reference.word_total - sum(words.values()))},
            frozenset(reference.words),
        )

    @classmethod
    def of_drafts(cls, drafts: Sequence[str]) -> UsualRates:
        """Take the rates of a model's drafts; a person's rate outside their 95% interval is unusual."""
        intervals = zip(TRAITS, Counts.of(drafts).intervals(), strict=True)
        bounds = {trait.name: Bounds(rate.value, rate.low, rate.high) for trait, rate in intervals if rate is not None}
        return cls(f"{len(drafts):,} drafts of the model for the same requests", bounds, word_counts(drafts), None)

    def languages_apart(self, texts: Sequence[str]) -> Sequence[bool]:
        """Return for each text if it is in the authors' language. That is True for all texts if fewer than a quarter
        seem not to be, since commands and lists have few common words in any language."""
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
        """True if words with these counts may be in the language of the usual rates; always True for drafts."""
        return sum(counts.values()) < LEAST_WORDS or self._known(counts)

    def comparable(self, counts: Mapping[str, int]) -> dict[str, float]:
        """Return the counts of the words in the vocabulary, all other words summed as one."""
        if self.vocabulary is None:
            return dict(counts)
        inside = {word: float(times) for word, times in counts.items() if word in self.vocabulary}
        return inside | {OTHER_WORDS: sum(counts.values()) - sum(inside.values())}


PRIOR_WORDS = 500.0  # the prior weighs as much as a text of that many words
LEAST_Z = 1.96


@dataclass(frozen=True, slots=True)
class WordUse:
    """The use of a word in the person's texts and in others', and how unusual the difference is."""

    word: str
    count: int
    other_count: int
    rate: float  # per 100 words
    other_rate: float
    log_odds: float  # ratio
    z: float  # z-score of the ratio


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """Count each word in the texts, lower-cased; words with a digit are left out."""
    return Counter(word for text in texts for word in Writing(text).lower_words if not any(map(str.isdigit, word)))


def distinctive_words(person: Mapping[str, float], others: Mapping[str, float]) -> list[WordUse]:
    """Return every word of either text collection by descending z-score of the log odds ratio: the person's most
    typical words come first. The prior is made of both collections."""
    known = Counter(person) + Counter(others)
    vocabulary = sorted({*person, *others})
    if len(vocabulary) < 2:  # a word that is alone has no odds
        return []
    weight = PRIOR_WORDS / (sum(known.values()) + 0.5 * sum(word not in known for word in vocabulary))
    n, m = sum(person.values()), sum(others.values())
    uses = []
    for word in vocabulary:
        prior = weight * known.get(word, 0.5)
        count, other_count = person.get(word, 0) + prior, others.get(word, 0) + prior
        log_odds = math.log(count / (n + PRIOR_WORDS - count)) - math.log(other_count / (m + PRIOR_WORDS - other_count))
        z = log_odds / math.sqrt(1 / count + 1 / other_count)
        counts = int(person.get(word, 0)), int(others.get(word, 0))
        rates = (100 * person.get(word, 0) / n if n else 0.0), (100 * others.get(word, 0) / m if m else 0.0)
        uses.append(WordUse(word, *counts, *rates, log_odds, z))
    return sorted(uses, key=lambda use: (-use.z, use.word))
