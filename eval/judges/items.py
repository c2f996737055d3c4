"""The items of a judge, as a file holds them, as a run takes them, and as a prompt shows their texts."""

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
    """``line`` of the file, counted from 1; ``id`` as the file has it, else "line N"."""

    @property
    def id(self) -> str: ...

    @property
    def line(self) -> int: ...


T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=Item)


@dataclass(frozen=True, slots=True)
class Items(Generic[ItemT]):
    """``every``: those to judge. ``lines``: how many the file has; ``passed_over``: the lines with each unknown field;
    ``about``: what else the judge's report says of the file."""

    every: tuple[ItemT, ...]
    lines: int
    passed_over: Mapping[str, int]
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Lines[ItemT], **about: Any) -> Items[ItemT]:
        """Every line that was read is an item."""
        return cls(lines.parsed, len(lines.parsed), lines.passed_over, about)

    def sampled(self, limit: int | None, seed: int) -> Items[ItemT]:
        return replace(self, every=sampled(self.every, limit, seed))


def sampled(items: Sequence[T], limit: int | None, seed: int) -> tuple[T, ...]:
    """Draw at most ``limit`` items at random; they keep their order."""
    if limit is None or limit >= len(items):
        return tuple(items)
    return tuple(items[place] for place in sorted(random.Random(seed).sample(range(len(items)), limit)))


def clusters_of(vectors: NDArray[np.floating[Any]], count: int, seed: int) -> list[list[int]]:
    """The rows of ``vectors``, (texts, dimensions), in ``count`` clusters by k-means, those nearest to the mean first.

    Copies are one point, and there are no more clusters than points.
    """
    from sklearn.cluster import KMeans

    means = KMeans(min(count, len(np.unique(vectors, axis=0))), n_init=10, random_state=seed).fit(vectors)
    distances = means.transform(vectors)  # (texts, clusters)
    members = (np.flatnonzero(means.labels_ == cluster) for cluster in range(distances.shape[1]))
    return [rows[np.argsort(distances[rows, cluster], kind="stable")].tolist() for cluster, rows in enumerate(members)]


class Fences:
    """The marks that texts stand between in one prompt. A text is data: a mark inside it is broken, so that it ends no
    fence."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._marks = Marks(marks)

    def around(self, mark: str, text: str) -> str:
        """The text between ``<mark>`` and ``</mark>``, each on its own line."""
        return f"<{mark}>\n{self._marks.broken(text.strip())}\n</{mark}>"
