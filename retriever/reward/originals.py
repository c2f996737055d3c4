"""Finding texts that are versions of the same paragraph: an edited text still shares word sequences with its draft."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from retriever.history.lexical import words
from retriever.reward.records import QualityPair, QualityRecord, ScoredParagraph

LENGTH = 5  # words of a sequence
SHARE = 0.1  # of the shorter text's sequences: edited texts share more with their draft, other texts share less


def underlying(texts: Sequence[str]) -> list[int]:
    """Group texts that are versions of the same paragraph; return each text's group number. Two texts are in a group if
    they share at least SHARE of the shorter text's word sequences, or if other texts connect them."""
    distinct = list(dict.fromkeys(texts))
    sequences = [_sequences(text) for text in distinct]
    group = list(range(len(distinct)))

    def root(index: int) -> int:
        while group[index] != index:
            group[index] = group[group[index]]
            index = group[index]
        return index

    seen: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, of_text in enumerate(sequences):
        shared = Counter(earlier for sequence in of_text for earlier in seen[sequence])
        for earlier, number in shared.items():
            if number >= SHARE * min(len(of_text), len(sequences[earlier])):
                group[root(index)] = root(earlier)
        for sequence in of_text:
            seen[sequence].append(index)
    number_of = {text: root(index) for index, text in enumerate(distinct)}
    return [number_of[text] for text in texts]


def preferred_versions(records: Sequence[QualityRecord]) -> list[tuple[str, str]]:
    """Return pairs of a better and a worse text: the records' own pairs, then versions of a paragraph with different
    scores. A text with several scores has their mean."""
    given = [(pair.better, pair.worse) for pair in records if isinstance(pair, QualityPair)]
    compared = set(map(frozenset, given))
    scores: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if isinstance(record, ScoredParagraph):
            scores[record.text].append(record.score)
    means = {text: fmean(given_scores) for text, given_scores in scores.items()}
    versions: dict[int, list[str]] = defaultdict(list)
    for text, group in zip(means, underlying(list(means)), strict=True):
        versions[group].append(text)
    made = (
        (one, other) if means[one] > means[other] else (other, one)
        for texts in versions.values()
        for one, other in combinations(texts, 2)
        if means[one] != means[other] and frozenset((one, other)) not in compared
    )
    return list(dict.fromkeys((*given, *made)))


def _sequences(text: str) -> set[tuple[str, ...]]:
    of_text = words(text)
    length = min(LENGTH, len(of_text))
    return {tuple(of_text[start : start + length]) for start in range(len(of_text) - length + 1)}
