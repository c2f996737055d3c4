"""Annotators that need no language model: they count a trait of a text, such as dashes, by rule.

The vote of a pair is for the text in which the trait has the higher rate, such as dashes per 100 words. The vote is
``both`` if the rates are equal, ``neither`` if no text has the trait, and not applicable if a rate is undefined, such
as the rate in a text without words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eval.recorded.forensics.pairs import TRAIT, AnnotatedPairs, Annotator, Pair, Vote, short_id
from pearl.errors import InputError
from pearl.style.manner.rates import Counts
from pearl.style.manner.trait import PER_100_WORDS, Trait, any_of
from pearl.style.manner.traits import BY_NAME
from pearl.style.manner.usual_rates import LEAST_Z, WordUse, distinctive_words, word_counts
from pearl.style.manner.writing import Writing

BY_RULE = "by_rule"  # the field of an annotator that names its rule
PAIR_TRAITS = tuple(BY_NAME.values())
SHOWN_WORDS = 20


@dataclass(frozen=True, slots=True)
class Diction:
    """The words that an annotator's chosen texts use more often (``more``) and less often (``less``) than the rejected
    texts. Each list starts with the most certain word."""

    more: tuple[WordUse, ...]
    less: tuple[WordUse, ...]


def rule_annotator(name: str, does: str, measures: str) -> Annotator:
    """Make the annotator that votes by the rule called ``name``; the field ``by_rule`` says that it is a rule."""
    fields = {"name": f"{does} (by rule)", "description": measures, "type": TRAIT, BY_RULE: name}
    return Annotator(short_id(f"{BY_RULE} {name}"), fields)


def with_rules(data: AnnotatedPairs) -> AnnotatedPairs:
    """Return the data set with an added annotator, and its votes, for each trait that is counted by rule."""
    annotators = [rule_annotator(trait.name, trait.more, trait.measures) for trait in PAIR_TRAITS]
    a, b = (Counts.of([pair.texts[side] for pair in data.pairs], PAIR_TRAITS) for side in (0, 1))
    votes = _votes(a.found, a.bases, b.found, b.bases)  # (N, F)
    pairs = [
        pair.with_votes({annotator.id: Vote(vote) for annotator, vote in zip(annotators, row, strict=True)})
        for pair, row in zip(data.pairs, votes.tolist(), strict=True)
    ]
    return data.with_annotators({annotator.id: annotator for annotator in annotators}, tuple(pairs))


def _votes(found_a: ArrayLike, base_a: ArrayLike, found_b: ArrayLike, base_b: ArrayLike) -> NDArray[np.str_]:
    """Return the votes as words, from how often each text has the trait (``found``) and what the rate is per
    (``base``), such as words. Both are whole numbers, so that equal rates compare equal."""
    ahead = np.multiply(found_a, base_b) - np.multiply(found_b, base_a)
    rated, has = np.minimum(base_a, base_b) > 0, np.maximum(found_a, found_b) > 0
    votes = (Vote.NOT_APPLICABLE, Vote.NEITHER, Vote.A, Vote.B)
    return np.select([~rated, ~has, ahead > 0, ahead < 0], list(map(str, votes)), str(Vote.BOTH))


def diction(pairs: Iterable[Pair], reference: str) -> Diction:
    """Find the words that distinguish the texts that an annotator (given by its id) chooses from those it rejects:
    their log-odds ratio with a Dirichlet prior is more than 1.96 standard errors from zero."""
    own, others = [], []
    for pair in pairs:
        if (vote := pair.vote(reference)) and vote.chooses:
            own.append(pair.texts[vote is Vote.B])
            others.append(pair.texts[vote is Vote.A])
    uses = distinctive_words(word_counts(own), word_counts(others))
    more = tuple(use for use in uses if use.z >= LEAST_Z)
    return Diction(more, tuple(use for use in reversed(uses) if use.z <= -LEAST_Z))


def with_words_of(data: AnnotatedPairs, reference: Annotator) -> AnnotatedPairs:
    """Return the data set with an added annotator that votes for the text with more of the words typical of the texts
    that ``reference`` chooses. The words for one half of the pairs are learned from the other half, so that no pair is
    judged by its own words. Raises InputError if a half of the pairs has no typical word."""
    halves = [[pair for pair in data.pairs if _half(pair) == half] for half in (0, 1)]
    words = [frozenset(use.word for use in diction(halves[1 - half], reference.id).more) for half in (0, 1)]
    if not all(words):
        raise InputError(
            f"--words-of '{reference.name}': half of the pairs have no word that its texts use more often; there are "
            "too few pairs."
        )
    measures = f"Words that the texts chosen by {reference.name} have more often in the other half of the pairs."
    annotator = rule_annotator(f"words of {reference.name}", f"use more words of {reference.name}", measures)
    traits = [Trait(annotator.id, "", measures, PER_100_WORDS, any_of(mine), "") for mine in words]
    pairs = []
    for pair in data.pairs:
        (found_a, base_a), (found_b, base_b) = (traits[_half(pair)].counts(Writing(text)) for text in pair.texts)
        pairs.append(pair.with_votes({annotator.id: Vote(str(_votes(found_a, base_a, found_b, base_b)))}))
    return data.with_annotators({annotator.id: annotator}, tuple(pairs))


def _half(pair: Pair) -> int:
    return pair.digest[0] % 2


def words_json(uses: Sequence[WordUse]) -> list[dict[str, float | str]]:
    """The most distinctive words as JSON: their counts, their rates per 100 words and their z-scores."""
    return [
        {
            "word": use.word,
            "count": use.count,
            "other_count": use.other_count,
            "rate": round(use.rate, 4),
            "other_rate": round(use.other_rate, 4),
            "z": round(use.z, 3),
        }
        for use in uses[:SHOWN_WORDS]
    ]
