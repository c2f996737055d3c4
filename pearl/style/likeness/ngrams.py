"""N-gram models with interpolated Kneser-Ney smoothing (Kneser and Ney 1995), computed on whole arrays.

An n-gram is a hash of 32 bits, so all places of a text are looked up at once by binary search. Dimensions in comments:
T tokens with their padding, P predicted places, K order of the model, G different n-grams of one length, C different
contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pearl.stats.bootstrap import Floats
from pearl.style.likeness.masking import Tokens

Hashes = NDArray[np.uint32]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MIXER = np.uint64(0xBF58476D1CE4E5B9)
END = np.uint64(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Grams:
    """Texts converted to hashes of n-grams of every length."""

    hashes: tuple[Hashes, ...]  # hashes[k] (T,): the n-gram of length k + 1 that ends at each token
    places: NDArray[np.intp]  # indices of the tokens to predict, (P,)
    text: NDArray[np.intp]  # the text that each of them is in, (P,)

    @classmethod
    def of(cls, texts: Sequence[Tokens], order: int) -> Grams:
        padding = np.zeros(order - 1, np.uint64)
        tokens = np.concatenate(
            [part for tokens_of_text in texts for part in (padding, tokens_of_text, [END])], dtype=np.uint64
        )
        lengths = np.array([len(tokens_of_text) + 1 for tokens_of_text in texts])  # with the end
        text = np.repeat(np.arange(len(texts)), lengths)
        places = np.arange(len(text)) + (text + 1) * (order - 1)
        alone = _mix((tokens + np.uint64(1)) * MULTIPLIER)
        full = [alone]
        for _ in range(order - 1):
            before = np.concatenate((np.zeros(1, np.uint64), full[-1][:-1]))
            full.append(_mix(before * MULTIPLIER + alone))
        return cls(tuple((hashes >> np.uint64(32)).astype(np.uint32) for hashes in full), places, text)

    def at(self, length: int) -> Hashes:
        """Return the n-gram of this length that ends at each token to predict, (P,)."""
        return self.hashes[length - 1][self.places]

    def before(self, length: int, places: NDArray[np.intp] | None = None) -> Hashes:
        """Return the n-gram that ends before each token to predict, or before each of ``places``, (P,)."""
        places = self.places if places is None else places
        return self.hashes[length - 1][places - 1] if length else np.zeros(len(places), np.uint32)


def _mix(values: Tokens) -> Tokens:
    values = values ^ (values >> np.uint64(31))
    values = values * MIXER
    return np.asarray(values ^ (values >> np.uint64(29)))


@dataclass(frozen=True, slots=True)
class NgramLevel:
    """The n-grams of one length with their counts, and the contexts they occur in."""

    grams: Hashes  # sorted, (G,)
    counts: NDArray[np.float32]  # (G,)
    contexts: Hashes  # sorted, (C,)
    totals: NDArray[np.float32]  # sum of the counts in each context, (C,)
    kinds: NDArray[np.float32]  # different continuations of each context, (C,)


@dataclass(frozen=True, slots=True)
class NgramModel:
    """An n-gram model. The longest n-grams have plain counts; a shorter n-gram has the number of different tokens
    before it, as in Kneser and Ney."""

    levels: tuple[NgramLevel, ...]  # n-grams of every length up to the order, the shortest first
    discount: float

    @classmethod
    def fit(
        cls,
        grams: Grams,
        discount: float,
        authors: NDArray[np.intp] | None = None,
        least: int = 1,
        within: NgramModel | None = None,
    ) -> NgramModel:
        """Fit the model to texts. ``authors``: the author of each text, to keep only n-grams of at least ``least``
        authors; ``within``: a model, to keep only n-grams that it has."""
        order = len(grams.hashes)
        distinct = [np.unique(grams.at(k), return_index=True, return_counts=True) for k in range(1, order + 1)]
        levels = []
        for k, (known, first, counts) in enumerate(distinct, start=1):
            places = grams.places[first]
            if k < order:
                longer = grams.places[distinct[k][1]]
                ends = np.searchsorted(known, grams.hashes[k - 1][longer])
                counts = np.bincount(ends, minlength=len(known))
            common = counts > 0
            if authors is not None:
                common &= _authors_of(known, grams.at(k), authors[grams.text]) >= least
            if within is not None:
                common &= np.isin(known, within.levels[k - 1].grams)
            contexts, context_of = np.unique(grams.before(k - 1, places[common]), return_inverse=True)
            some = counts[common].astype(np.float32)
            totals = np.bincount(context_of, weights=some).astype(np.float32)
            levels.append(NgramLevel(known[common], some, contexts, totals, np.bincount(context_of).astype(np.float32)))
        return cls(tuple(levels), discount)

    def probabilities(self, grams: Grams, base: Floats | float) -> Floats:
        """Return the probability of the token at each place, (P,). ``base``: the probability to interpolate with,
        either 1 over the number of words or, to learn how a person differs from other people, their model's, (P,)."""
        result = np.broadcast_to(np.asarray(base, np.float64), grams.places.shape)
        for k, level in enumerate(self.levels, start=1):
            count = _lookup(level.grams, level.counts, grams.at(k))
            before = grams.before(k - 1)
            total, kinds = (_lookup(level.contexts, figures, before) for figures in (level.totals, level.kinds))
            seen = np.maximum(count - self.discount, 0.0) + self.discount * kinds * result
            result = np.where(total > 0, seen / np.maximum(total, 1.0), result)
        return result


def _lookup(known: Hashes, values: NDArray[np.float32], wanted: Hashes) -> Floats:
    """The value of each hash, 0 for one that is not known."""
    if not len(known):
        return np.zeros(len(wanted))
    index = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[index] == wanted, values[index], 0.0).astype(np.float64)


def _authors_of(known: Hashes, grams: Hashes, authors: NDArray[np.intp]) -> NDArray[np.intp]:
    """The number of different authors of each known n-gram, (G,)."""
    size = int(authors.max()) + 1
    pairs = np.unique(np.searchsorted(known, grams) * size + authors)
    return np.bincount(pairs // size, minlength=len(known))
