"""The manner of many authors, which one person's is compared with: only figures, written by ``pearl eval manner``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import orjson

from pearl.manner.rates import Counts
from pearl.manner.traits import TRAITS
from pearl.manner.words import word_counts
from pearl.stats.bootstrap import Floats

ANY, COMMIT, MESSAGE = "any", "commit", "message"
OF_TEMPLATE = {COMMIT: COMMIT, MESSAGE: MESSAGE}  # a template that is not named here: any kind of text
COMMON = 0.3  # share of each history's authors that use a word of the vocabulary: manner, no subjects and no names
LEAST_SD = 1e-3
DIGITS = 5


@dataclass(frozen=True, slots=True)
class Spread:
    """A rate over authors."""

    mean: float
    sd: float  # standard deviation
    low: float  # lower quartile
    high: float  # upper quartile


@dataclass(frozen=True, slots=True)
class Reference:
    """Rates of traits and common words over the authors of one kind of text."""

    kind: str
    authors: int
    texts: int
    word_total: int  # words of all texts
    traits: Mapping[str, Spread]
    words: Mapping[str, Spread]  # uses per 100 words

    @classmethod
    def of(cls, kind: str, histories: Sequence[Sequence[Sequence[str]]]) -> Reference:
        """The figures of several histories, each the texts of each author; authors without a rate do not count."""
        authors = [texts for history in histories for texts in history]
        rates = np.array([Counts.of(texts).rates() for texts in authors])
        counts = [word_counts(texts) for texts in authors]
        common = sorted(set.intersection(*map(_common_words, histories)))
        uses = word_rates(counts, common)
        return cls(
            kind,
            len(authors),
            sum(map(len, authors)),
            sum(of_author.total() for of_author in counts),
            {trait.name: _spread(rates[:, index]) for index, trait in enumerate(TRAITS)},
            {word: _spread(uses[:, index]) for index, word in enumerate(common)},
        )

    def standardised(self, texts: Sequence[str]) -> Floats:
        """The rates of all traits and common words in the texts, in standard deviations from the authors' mean, (F,); 0
        where the texts have no rate."""
        rates = Counts.of(texts).rates()
        uses = word_rates([word_counts(texts)], list(self.words))[0]
        spreads = [*(self.traits[trait.name] for trait in TRAITS), *self.words.values()]
        mean, sd = (np.array([getattr(spread, part) for spread in spreads]) for part in ("mean", "sd"))
        return np.asarray(np.nan_to_num((np.concatenate((rates, uses)) - mean) / np.maximum(sd, LEAST_SD)))

    def to_json(self) -> dict[str, object]:
        def rows(spreads: Mapping[str, Spread]) -> dict[str, list[float]]:
            return {name: [one.mean, one.sd, one.low, one.high] for name, one in spreads.items()}

        return {
            "kind": self.kind,
            "authors": self.authors,
            "texts": self.texts,
            "word_total": self.word_total,
            "traits": rows(self.traits),
            "words": rows(self.words),
        }


def word_rates(counts: Sequence[Mapping[str, int]], vocabulary: Sequence[str]) -> Floats:
    """Uses per 100 words, (N, V)."""
    totals = [max(sum(of_author.values()), 1) for of_author in counts]
    rows = [
        [100 * of_author.get(word, 0) / total for word in vocabulary]
        for of_author, total in zip(counts, totals, strict=True)
    ]
    return np.array(rows, np.float64).reshape(len(counts), len(vocabulary))


def _common_words(history: Sequence[Sequence[str]]) -> set[str]:
    users = Counter(word for texts in history for word in word_counts(texts))
    return {word for word, times in users.items() if times >= COMMON * len(history)}


@cache
def shipped(kind: str) -> Reference:
    """The figures that come with the package."""
    content = orjson.loads((files("pearl.manner") / "reference.json").read_bytes())[kind]
    spreads = {part: {name: Spread(*row) for name, row in content[part].items()} for part in ("traits", "words")}
    return Reference(kind, content["authors"], content["texts"], content["word_total"], **spreads)


@cache
def common_words() -> frozenset[str]:
    """The words that authors of any kind of text commonly use; all of them write English."""
    return frozenset().union(*(shipped(kind).words for kind in (ANY, COMMIT, MESSAGE)))


def _spread(rates: Floats) -> Spread:
    known = rates[np.isfinite(rates)]
    low, high = np.percentile(known, (25, 75))
    return Spread(*(round(float(figure), DIGITS) for figure in (known.mean(), known.std(), low, high)))
