"""An index from terms to documents, to look only at the few documents that share something.

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
    """Every occurrence of terms in documents."""

    places: Places  # indices of the terms among those looked for, (H,)
    documents: Places  # (H,)
    counts: NDArray[np.int32]  # how often the term is in the document, (H,)
    found: Places  # in how many documents each term is, (Q,)
    size: int  # C

    def terms(self) -> Places:
        """The number of the terms that each document has, (C,)."""
        return np.bincount(self.documents, minlength=self.size)

    def sums(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """The total weight of the terms that each document has, (Q,) -> (C,)."""
        return np.bincount(self.documents, weights[self.places], self.size).astype(np.float32)


class Postings:
    """Pairs of a term and a document in the order of the terms.

    A pair is one number: the term's upper bits, and in place of its lower ones the document's position. Of 64 random
    bits 51 are left for 5,900 documents, so that among a million terms two meet once in 4,000 histories.
    """

    def __init__(self, terms: Terms, documents: Places, size: int) -> None:
        """``terms`` and the position of the document each is in, in any order and as often as it is in it; ``size``:
        C."""
        self.size = size
        self._low = np.uint64((1 << size.bit_length()) - 1)  # above the last position, see shared_with_the_one_before
        pairs = (terms & ~self._low) | documents.astype(np.uint64)
        pairs.sort()
        first = np.flatnonzero(_differs(pairs, np.uint64(0)))
        self._pairs = pairs[first]  # (P,)
        self._counts = np.diff(first, append=len(pairs)).astype(np.int32)  # (P,)

    def find(self, terms: Terms) -> Hits:
        """Find the documents of each term; a repeated term is found again."""
        wanted = terms & ~self._low
        starts = np.searchsorted(self._pairs, wanted)
        counts = np.searchsorted(self._pairs, wanted | self._low) - starts
        pairs = ranges(starts, counts)
        documents = (self._pairs[pairs] & self._low).astype(np.intp)
        return Hits(np.repeat(np.arange(len(counts)), counts), documents, self._counts[pairs], counts, self.size)

    def pairs(self) -> tuple[Terms, Places]:
        """Each term of each document once, and the document, (P,) each."""
        return self._pairs & ~self._low, (self._pairs & self._low).astype(np.intp)

    def different(self) -> Places:
        """The number of different terms of each document, (C,)."""
        return np.bincount(self.pairs()[1], minlength=self.size)

    def spread(self) -> Places:
        """The number of terms in no, one, two, ... documents, (C + 1,)."""
        first = np.flatnonzero(_differs(self._pairs, self._low))
        return np.bincount(np.diff(first, append=len(self._pairs)), minlength=self.size + 1)

    def shared_with_the_one_before(self) -> Places:
        """The number of different terms that each document shares with the one before it, (C,)."""
        follows = np.flatnonzero(self._pairs[1:] - self._pairs[:-1] == 1) + 1
        return np.bincount(self.pairs()[1][follows], minlength=self.size)

    def shared(self) -> Postings:
        """The postings of terms in more than one document; few n-grams are."""
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
