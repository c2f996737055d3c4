"""Which texts of a user are targets and which are candidates (papers/pearl.txt, sections 4.1 and 5.1)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pearl.errors import InputError
from pearl.records import Document

TARGETS_PER_USER = 8
LATEST = "latest"
ROLLING = "rolling"
WAYS = (LATEST, ROLLING)


@dataclass(frozen=True, slots=True)
class Partition:
    """A user's targets and the documents that may be their candidates, both oldest first.

    The candidates of ``targets[i]`` are the first ``before[i]`` documents. ``temporal`` is False where there was no
    time to go by.
    """

    user_id: str
    documents: tuple[Document, ...]
    targets: tuple[Document, ...]
    before: tuple[int, ...]
    temporal: bool

    def requests(self) -> Iterator[tuple[Document, tuple[Document, ...]]]:
        """Each target with its candidates."""
        for target, count in zip(self.targets, self.before, strict=True):
            yield target, self.documents[:count]


def partition(
    user_id: str,
    documents: Sequence[Document],
    *,
    way: str = LATEST,
    targets: int = TARGETS_PER_USER,
    least: int = 1,
    seed: int = 0,
) -> Partition | None:
    """At most ``targets`` texts that answer a request and have ``least`` candidates.

    ``latest``: the most recent texts are targets and everything before the first of them is a candidate, as section
    4.1 trains. ``rolling``: targets are drawn from the later half, and a target's candidates are all texts before it,
    as section 5.1 evaluates and as the service sees a history. At random where any document has no time. A text that
    is on the target side is never a candidate, also under another id. None for a user without a target left.
    """
    temporal = all(document.timestamp is not None for document in documents)
    ordered = sorted(documents, key=lambda document: document.timestamp or 0.0) if temporal else list(documents)
    if not temporal:
        random.Random(f"{seed}:{user_id}").shuffle(ordered)
    positions = _choose(user_id, ordered, way, targets, least, seed)
    texts = {ordered[position].text for position in positions}
    candidates = [(position, document) for position, document in enumerate(ordered) if document.text not in texts]
    last = min(positions, default=0) if way == LATEST else len(ordered)
    counted = [
        (ordered[position], sum(1 for place, _ in candidates if place < min(position, last))) for position in positions
    ]
    usable = [(target, count) for target, count in counted if count >= least]
    if not usable:
        return None
    kept = tuple(document for _, document in candidates[: max(count for _, count in usable)])
    return Partition(
        user_id, kept, tuple(target for target, _ in usable), tuple(count for _, count in usable), temporal
    )


def _choose(user_id: str, ordered: list[Document], way: str, targets: int, least: int, seed: int) -> list[int]:
    answering = [position for position, document in enumerate(ordered) if document.request]
    if way == LATEST:
        return answering[-targets:]
    if way != ROLLING:
        raise InputError(f"There is no partition '{way}'; there are {', '.join(WAYS)}.", param="partition")
    later = [position for position in answering if position >= max(len(ordered) // 2, least)]
    return sorted(random.Random(f"{seed}:{user_id}:targets").sample(later, min(targets, len(later))))
