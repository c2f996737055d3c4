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
    """A word in the person's texts and in others'."""

    word: str
    count: int
    other_count: int
    rate: float  # per 100 words
    other_rate: float
    log_odds: float  # ratio
    z: float  # z-score of the ratio


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """The count of each word in the texts, lower-cased; runs with a digit are no words."""
    return Counter(word for text in texts for word in Writing(text).lower_words if not any(map(str.isdigit, word)))


def distinctive_words(person: Mapping[str, float], others: Mapping[str, float]) -> list[WordUse]:
    """Every word of either set by falling z-score, so the person's most typical words first. Both sets together give
    the prior's proportions; a word that neither has counts as half an occurrence in it."""
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
