"""Lists of different lengths, end to end in one array, so that a history is computed with at once.

Dimensions in comments: L lists, V values of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Terms = NDArray[np.uint64]  # hashes, of words or of what is made of words or letters
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Lists of different lengths in one array."""

    values: Terms  # (V,)
    lengths: Places  # of the lists, (L,)
    starts: Places  # of the lists in ``values``, (L,)

    @classmethod
    def of(cls, values: Terms, lengths: Sequence[int] | Places) -> Ragged:
        made = np.asarray(lengths, np.intp)
        return cls(values, made, np.cumsum(made) - made)

    def take(self, lists: Places, longest: int | None = None) -> Ragged:
        """Some of the lists, in this order; of each no more than ``longest`` values."""
        lengths = self.lengths[lists] if longest is None else np.minimum(self.lengths[lists], longest)
        return Ragged.of(self.values[ranges(self.starts[lists], lengths)], lengths)

    def followed_by(self, other: Ragged) -> Ragged:
        return Ragged.of(np.concatenate((self.values, other.values)), np.concatenate((self.lengths, other.lengths)))

    def owners(self) -> Places:
        """The list that each value is in, (V,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def runs(self, size: int) -> tuple[Places, Places]:
        """The start of each run of ``size`` values within one list, and the list it is in."""
        counts = np.maximum(self.lengths - (size - 1), 0)
        return ranges(self.starts, counts), np.repeat(np.arange(len(counts)), counts)

    def common_beginnings(self, values: Terms) -> Places:
        """The number of values that each list's beginning shares with that of ``values``, (L,)."""
        return self._common(values, self.starts, 1)

    def common_ends(self, values: Terms) -> Places:
        """The number of values that each list's end shares with that of ``values``, (L,)."""
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
    """starts[0], starts[0] + 1, ..., lengths[0] of them, then those of starts[1], ..."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)
