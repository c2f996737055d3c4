"""Words that a person uses more than others do, by log-odds with an informative Dirichlet prior (Monroe, Colaresi and
Quinn 2008, equations 15 to 23)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pearl.manner.writing import Writing

PRIOR_WORDS = 500.0  # the prior weighs as much as a text of that many words
LEAST_Z = 1.96


@dataclass(frozen=True, slots=True)
class WordUse:
    """A word in two sets of texts: how often it stands in each, the log-odds ratio and its z-score."""

    word: str
    count: int
    other_count: int
    rate: float  # per 100 words
    other_rate: float
    log_odds: float
    z: float


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """The number of times that each word stands in the texts, in small letters; what has a digit is no word."""
    return Counter(word for text in texts for word in Writing(text).lower_words if not any(map(str.isdigit, word)))


def distinctive_words(own: Mapping[str, float], others: Mapping[str, float]) -> list[WordUse]:
    """Every word of either set, by falling z-score: the most the person's own first. Both sets together give the
    prior's proportions; a word that neither has counts as half an occurrence in it."""
    known = Counter(own) + Counter(others)
    vocabulary = sorted({*own, *others})
    if len(vocabulary) < 2:  # a word that is alone has no odds
        return []
    weight = PRIOR_WORDS / (sum(known.values()) + 0.5 * sum(word not in known for word in vocabulary))
    n, m = sum(own.values()), sum(others.values())
    uses = []
    for word in vocabulary:
        prior = weight * known.get(word, 0.5)
        mine, theirs = own.get(word, 0) + prior, others.get(word, 0) + prior
        log_odds = math.log(mine / (n + PRIOR_WORDS - mine)) - math.log(theirs / (m + PRIOR_WORDS - theirs))
        z = log_odds / math.sqrt(1 / mine + 1 / theirs)
        counts = int(own.get(word, 0)), int(others.get(word, 0))
        rates = (100 * own.get(word, 0) / n if n else 0.0), (100 * others.get(word, 0) / m if m else 0.0)
        uses.append(WordUse(word, *counts, *rates, log_odds, z))
    return sorted(uses, key=lambda use: (-use.z, use.word))
