"""Lists of different lengths in one array, for array operations on a whole history; and 64-bit hashes of words, word
n-grams and character trigrams as their values.

Python's hashes differ in every process, so they must not be written to files. Dimensions in comments: L lists, V values
of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Terms = NDArray[np.uint64]  # hashes, of words or of what is made of words or letters
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Lists of different lengths, stored end to end in one array."""

    values: Terms  # (V,)
    lengths: Places  # of the lists, (L,)
    starts: Places  # of the lists in ``values``, (L,)

    @classmethod
    def of(cls, values: Terms, lengths: Sequence[int] | Places) -> Ragged:
        made = np.asarray(lengths, np.intp)
        return cls(values, made, np.cumsum(made) - made)

    def take(self, lists: Places, longest: int | None = None) -> Ragged:
        """Return the given lists, in the given order, each cut to at most ``longest`` values."""
        lengths = self.lengths[lists] if longest is None else np.minimum(self.lengths[lists], longest)
        return Ragged.of(self.values[ranges(self.starts[lists], lengths)], lengths)

    def followed_by(self, other: Ragged) -> Ragged:
        return Ragged.of(np.concatenate((self.values, other.values)), np.concatenate((self.lengths, other.lengths)))

    def owners(self) -> Places:
        """Return the index of the list that each value belongs to, (V,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def runs(self, size: int) -> tuple[Places, Places]:
        """Return the start of every run of ``size`` consecutive values in a list, and that list's index."""
        counts = np.maximum(self.lengths - (size - 1), 0)
        return ranges(self.starts, counts), np.repeat(np.arange(len(counts)), counts)

    def common_beginnings(self, values: Terms) -> Places:
        """Return how many leading values each list shares with ``values``, (L,)."""
        return self._common(values, self.starts, 1)

    def common_ends(self, values: Terms) -> Places:
        """Return how many trailing values each list shares with ``values``, (L,)."""
        return self._common(values[::-1], self.starts + self.lengths - 1, -1)

    def _common(self, values: Terms, first: Places, step: int) -> Places:
        counts = np.zeros(len(self.lengths), np.intp)
        alike = np.arange(len(counts))  # the lists that were alike so far
        for offset, value in enumerate(values):
            alike = alike[self.lengths[alike] > offset]
            alike = alike[self.values[first[alike] + step * offset] == value]
            if not len(alike):
                break
            counts[alike] += 1
        return counts


def ranges(starts: Places, lengths: Places) -> Places:
    """Concatenate ranges of integers: the i-th begins at ``starts[i]`` and has ``lengths[i]`` numbers."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)


# odd numbers of 64 random bits: a sum of hashes times these is as random as the hashes
OF_PAIR = np.array([0xA24BAED4963EE407, 0x9FB21C651E98DF25], np.uint64)
OF_TRIPLE = np.array([0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F, 0x8CB92BA72F3D8DD7], np.uint64)
LETTER_BITS = np.uint64(21)  # of any code point


def word_hashes(words: Iterable[str]) -> Terms:
    return np.fromiter(map(hash, words), np.int64).view(np.uint64)


def pairs_and_triples(words: Ragged) -> tuple[Terms, Places]:
    """Return the hashes of all word bigrams and trigrams, and the index of each one's list."""
    runs = []
    for factors in (OF_PAIR, OF_TRIPLE):
        starts, owners = words.runs(len(factors))
        terms = np.zeros(len(starts), np.uint64)
        for offset, factor in enumerate(factors):
            terms += words.values[starts + offset] * factor
        runs.append((terms, owners))
    (pairs, of_pairs), (triples, of_triples) = runs
    return np.concatenate((pairs, triples)), np.concatenate((of_pairs, of_triples))


def letter_triples(texts: Sequence[str]) -> tuple[Terms, Places]:
    """Return the hashes of texts' character trigrams, padded with spaces, and the index of each trigram's text."""
    codes = np.frombuffer("".join(f" {text} " for text in texts).encode("utf-32-le"), np.uint32).astype(np.uint64)
    letters = Ragged.of(codes, [len(text) + 2 for text in texts])
    starts, owners = letters.runs(3)
    first, second, third = (codes[starts + offset] for offset in range(3))
    return _mixed(first << (LETTER_BITS + LETTER_BITS) | second << LETTER_BITS | third), owners


def _mixed(numbers: Terms) -> Terms:
    """Map numbers to random-looking ones, without collisions (the end of splitmix64)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
