"""The paragraph that lies under a text: an edited text still shares most of its word sequences with the draft."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from retriever.history.lexical import words

LENGTH = 5  # words of a sequence
SHARE = 0.1  # of the shorter text's sequences: lightly and heavily edited texts lie above it, other texts below


def underlying(texts: Sequence[str]) -> list[int]:
    """The group of each text, by number: texts that share at least SHARE of the shorter one's word sequences are in one
    group, and so are texts that both share them with a third."""
    distinct = list(dict.fromkeys(texts))
    sequences = [_sequences(text) for text in distinct]
    group = list(range(len(distinct)))

    def root(place: int) -> int:
        while group[place] != place:
            group[place] = group[group[place]]
            place = group[place]
        return place

    seen: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, own in enumerate(sequences):
        shared = Counter(earlier for sequence in own for earlier in seen[sequence])
        for earlier, number in shared.items():
            if number >= SHARE * min(len(own), len(sequences[earlier])):
                group[root(place)] = root(earlier)
        for sequence in own:
            seen[sequence].append(place)
    number_of = {text: root(place) for place, text in enumerate(distinct)}
    return [number_of[text] for text in texts]


def _sequences(text: str) -> set[tuple[str, ...]]:
    of_text = words(text)
    length = min(LENGTH, len(of_text))
    return {tuple(of_text[start : start + length]) for start in range(len(of_text) - length + 1)}
