"""An inverted index from terms (hashes of words or n-grams) to the documents that contain them.

Dimensions in comments: C documents, P pairs of a term and a document, Q terms that are looked for, H hits.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retriever.history.ragged import Places, Terms, ranges


@dataclass(frozen=True, slots=True)
class Hits:
    """The occurrences of terms that were looked for, one for each pair of a term and a document."""

    places: Places  # indices of the terms among those looked for, (H,)
    documents: Places  # (H,)
    counts: NDArray[np.int32]  # how often the term is in the document, (H,)
    found: Places  # in how many documents each term is, (Q,)
    size: int  # C

    def terms(self) -> Places:
        """Return how many of the terms occur in each document, (C,)."""
        return np.bincount(self.documents, minlength=self.size)

    def sums(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return, for each document, the sum of the weights of the terms in it, (Q,) -> (C,)."""
        return np.bincount(self.documents, weights[self.places], self.size).astype(np.float32)


class Postings:
    """An inverted index: pairs of a term and a document, sorted by term.

    A pair is one number of 64 bits: the lower bits of the term's hash are replaced by the document's position. Terms
    that differ only in these bits collide: for 5,900 documents and a million terms in one of 4,000 histories.
    """

    def __init__(self, terms: Terms, documents: Places, size: int) -> None:
        """Index ``terms``, one for each occurrence, in any order. ``documents``: the position of each occurrence's
        document; ``size``: the number of documents, C."""
        self.size = size
        self._low = np.uint64((1 << size.bit_length()) - 1)  # above the last position, see shared_with_the_one_before
        pairs = (terms & ~self._low) | documents.astype(np.uint64)
        pairs.sort()
        first = np.flatnonzero(_differs(pairs, np.uint64(0)))
        self._pairs = pairs[first]  # (P,)
        self._counts = np.diff(first, append=len(pairs)).astype(np.int32)  # (P,)

    def find(self, terms: Terms) -> Hits:
        """Find the documents that contain each term; a repeated term is found repeatedly."""
        wanted = terms & ~self._low
        starts = np.searchsorted(self._pairs, wanted)
        counts = np.searchsorted(self._pairs, wanted | self._low) - starts
        pairs = ranges(starts, counts)
        documents = (self._pairs[pairs] & self._low).astype(np.intp)
        return Hits(np.repeat(np.arange(len(counts)), counts), documents, self._counts[pairs], counts, self.size)

    def pairs(self) -> tuple[Terms, Places]:
        """Return all pairs, without duplicates, as two arrays, (P,) each: terms (lower bits cleared) and documents."""
        return self._pairs & ~self._low, (self._pairs & self._low).astype(np.intp)

    def different(self) -> Places:
        """Return the number of different terms in each document, (C,)."""
        return np.bincount(self.pairs()[1], minlength=self.size)

    def spread(self) -> Places:
        """Return how many terms occur in n documents, for each n from 0 to C, (C + 1,)."""
        first = np.flatnonzero(_differs(self._pairs, self._low))
        return np.bincount(np.diff(first, append=len(self._pairs)), minlength=self.size + 1)

    def shared_with_the_one_before(self) -> Places:
        """Return how many different terms each document shares with the document before, (C,)."""
        follows = np.flatnonzero(self._pairs[1:] - self._pairs[:-1] == 1) + 1
        return np.bincount(self.pairs()[1][follows], minlength=self.size)

    def shared(self) -> Postings:
        """Return an index of only the terms that occur in more than one document."""
        first = _differs(self._pairs, self._low)
        shared = ~(first & np.append(first[1:], True))
        made = copy(self)
        made._pairs, made._counts = self._pairs[shared], self._counts[shared]
        return made


def _differs(pairs: Terms, apart_from: np.uint64) -> NDArray[np.bool_]:
    """True for each number that differs from the number before in bits above ``apart_from``, and for the first."""
    differs = np.ones(len(pairs), np.bool_)
    differs[1:] = (pairs[1:] ^ pairs[:-1]) > apart_from
    return differs
