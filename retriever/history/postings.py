"""An inverted index from terms to documents, so that a look-up visits only documents that contain a term.

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
    """The occurrences, in the documents, of terms that were looked for."""

    places: Places  # indices of the terms among those looked for, (H,)
    documents: Places  # (H,)
    counts: NDArray[np.int32]  # how often the term is in the document, (H,)
    found: Places  # in how many documents each term is, (Q,)
    size: int  # C

    def terms(self) -> Places:
        """Return how many of the terms each document has, (C,)."""
        return np.bincount(self.documents, minlength=self.size)

    def sums(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the total weight of the terms found in each document, (Q,) -> (C,)."""
        return np.bincount(self.documents, weights[self.places], self.size).astype(np.float32)


class Postings:
    """An inverted index: pairs of a term and a document, sorted by term.

    A pair is one number: the term's upper bits, and the document's position in place of the lower ones. For 5,900
    documents 51 random bits are left, so that among a million terms two collide in one of 4,000 histories.
    """

    def __init__(self, terms: Terms, documents: Places, size: int) -> None:
        """Index ``terms``, each with the position of a document it occurs in, in any order and once per occurrence;
        ``size`` is the number of documents, C."""
        self.size = size
        self._low = np.uint64((1 << size.bit_length()) - 1)  # above the last position, see shared_with_the_one_before
        pairs = (terms & ~self._low) | documents.astype(np.uint64)
        pairs.sort()
        first = np.flatnonzero(_differs(pairs, np.uint64(0)))
        self._pairs = pairs[first]  # (P,)
        self._counts = np.diff(first, append=len(pairs)).astype(np.int32)  # (P,)

    def find(self, terms: Terms) -> Hits:
        """Find the documents of each term; a term given twice is found twice."""
        wanted = terms & ~self._low
        starts = np.searchsorted(self._pairs, wanted)
        counts = np.searchsorted(self._pairs, wanted | self._low) - starts
        pairs = ranges(starts, counts)
        documents = (self._pairs[pairs] & self._low).astype(np.intp)
        return Hits(np.repeat(np.arange(len(counts)), counts), documents, self._counts[pairs], counts, self.size)

    def pairs(self) -> tuple[Terms, Places]:
        """Return the different pairs as two arrays, (P,) each: terms (without their lower bits) and documents."""
        return self._pairs & ~self._low, (self._pairs & self._low).astype(np.intp)

    def different(self) -> Places:
        """Count the different terms of each document, (C,)."""
        return np.bincount(self.pairs()[1], minlength=self.size)

    def spread(self) -> Places:
        """Count terms by the number of documents that have them: entry n counts the terms in n documents, (C + 1,)."""
        first = np.flatnonzero(_differs(self._pairs, self._low))
        return np.bincount(np.diff(first, append=len(self._pairs)), minlength=self.size + 1)

    def shared_with_the_one_before(self) -> Places:
        """Count the different terms that each document shares with the preceding document, (C,)."""
        follows = np.flatnonzero(self._pairs[1:] - self._pairs[:-1] == 1) + 1
        return np.bincount(self.pairs()[1][follows], minlength=self.size)

    def shared(self) -> Postings:
        """Return the postings of those terms that more than one document has; few n-grams are such."""
        first = _differs(self._pairs, self._low)
        shared = ~(first & np.append(first[1:], True))
        made = copy(self)
        made._pairs, made._counts = self._pairs[shared], self._counts[shared]
        return made


def _differs(pairs: Terms, apart_from: np.uint64) -> NDArray[np.bool_]:
    """True where a number differs from the one before it in other bits than these; the first always does."""
    differs = np.ones(len(pairs), np.bool_)
    differs[1:] = (pairs[1:] ^ pairs[:-1]) > apart_from
    return differs
