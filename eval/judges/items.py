"""The items that a judge judges: reading, sampling and clustering them, and marks around their texts in a prompt."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.asking.json_lines import Lines
from pearl.text.fences import Marks


class Item(Protocol):
    """An item to judge; ``line``: its line in the file, from 1; ``id``: as in the file, or "line N"."""

    @property
    def id(self) -> str: ...

    @property
    def line(self) -> int: ...


T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=Item)


@dataclass(frozen=True, slots=True)
class Items(Generic[ItemT]):
    """The items of a file. ``every``: the items to judge; ``lines``: how many items the file has; ``passed_over``: how
    many lines have each unknown field; ``about``: other facts for the report."""

    every: tuple[ItemT, ...]
    lines: int
    passed_over: Mapping[str, int]
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Lines[ItemT], **about: Any) -> Items[ItemT]:
        """Make every parsed line an item."""
        return cls(lines.parsed, len(lines.parsed), lines.passed_over, about)

    def sampled(self, limit: int | None, seed: int) -> Items[ItemT]:
        return replace(self, every=sampled(self.every, limit, seed))


def sampled(items: Sequence[T], limit: int | None, seed: int) -> tuple[T, ...]:
    """Draw at most ``limit`` items at random; they keep their order."""
    if limit is None or limit >= len(items):
        return tuple(items)
    return tuple(items[place] for place in sorted(random.Random(seed).sample(range(len(items)), limit)))


def clusters_of(vectors: NDArray[np.floating[Any]], count: int, seed: int) -> list[list[int]]:
    """Cluster the rows of ``vectors``, (texts, dimensions), by k-means into at most ``count`` clusters of different
    points. Returns the rows of each cluster, those nearest to its mean first."""
    from sklearn.cluster import KMeans

    means = KMeans(min(count, len(np.unique(vectors, axis=0))), n_init=10, random_state=seed).fit(vectors)
    distances = means.transform(vectors)  # (texts, clusters)
    members = (np.flatnonzero(means.labels_ == cluster) for cluster in range(distances.shape[1]))
    return [rows[np.argsort(distances[rows, cluster], kind="stable")].tolist() for cluster, rows in enumerate(members)]


class Fences:
    """Marks around the texts in one prompt. A mark within a text is altered, so that the text cannot end early."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._marks = Marks(marks)

    def around(self, mark: str, text: str) -> str:
        """Put the text between ``<mark>`` and ``</mark>``, both on their own lines."""
        return f"<{mark}>\n{self._marks.broken(text.strip())}\n</{mark}>"
