"""Words, runs of words and runs of letters as numbers of 64 bits, which fit into arrays and from which nothing can be
read back.

Python salts its hashes anew in every process, so these are for indexes in memory, never for files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from retriever.history.ragged import Places, Ragged, Terms

# odd numbers of 64 random bits: a sum of hashes times these is as random as the hashes
OF_PAIR = np.array([0xA24BAED4963EE407, 0x9FB21C651E98DF25], np.uint64)
OF_TRIPLE = np.array([0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F, 0x8CB92BA72F3D8DD7], np.uint64)
LETTER_BITS = np.uint64(21)  # of any code point


def word_hashes(words: Iterable[str]) -> Terms:
    return np.fromiter(map(hash, words), np.int64).view(np.uint64)


def pairs_and_triples(words: Ragged) -> tuple[Terms, Places]:
    """The hashes of all pairs and triples of neighbouring words, and the list that each is in."""
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
    """The hashes of all runs of three characters of each text between spaces, and the text that each is in."""
    codes = np.frombuffer("".join(f" {text} " for text in texts).encode("utf-32-le"), np.uint32).astype(np.uint64)
    letters = Ragged.of(codes, [len(text) + 2 for text in texts])
    starts, owners = letters.runs(3)
    first, second, third = (codes[starts + offset] for offset in range(3))
    return _mixed(first << (LETTER_BITS + LETTER_BITS) | second << LETTER_BITS | third), owners


def _mixed(numbers: Terms) -> Terms:
    """Different numbers that look random for different ones (the end of splitmix64)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
