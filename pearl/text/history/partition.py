"""Divides a user's texts into targets (texts to write again from their requests) and candidates (earlier texts that may
help), as in papers/pearl.txt, sections 4.1 and 5.1; and users into splits: train to fit, dev to choose settings, test
to measure once."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pearl.errors import InputError
from pearl.records import Document

TARGETS_PER_USER = 8
LATEST = "latest"
ROLLING = "rolling"
WAYS = (LATEST, ROLLING)


@dataclass(frozen=True, slots=True)
class HistorySlice:
    """A slice of every user's history, given by shares of its length."""

    first: float = 0.0  # targets lie from here on
    last: float = 1.0  # texts from here on are not looked at

    def places(self, documents: int) -> tuple[int, int]:
        """Return the index of the first text that may be a target, and the index after the last text."""
        return round(self.first * documents), round(self.last * documents)


WHOLE = HistorySlice()


@dataclass(frozen=True, slots=True)
class Partition:
    """A user's targets and the documents that may be candidates for them, both oldest first."""

    user_id: str
    documents: tuple[Document, ...]
    targets: tuple[Document, ...]
    before: tuple[int, ...]  # the candidates of targets[i] are the first before[i] documents
    temporal: bool  # False if the documents have no times to order them by

    def requests(self) -> Iterator[tuple[Document, tuple[Document, ...]]]:
        """Yield each target with its candidates."""
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
    part: HistorySlice = WHOLE,
) -> Partition | None:
    """Choose at most ``targets`` texts that answer a request and have at least ``least`` candidates.

    ``way``: with LATEST the most recent texts are targets, and all texts before the first target are candidates, as in
    training in section 4.1. With ROLLING targets are drawn from the later half, and a target's candidates are all texts
    before it, as in evaluation in section 5.1 and in the service. The order is random if a text has no time. A target's
    text is never a candidate, even under another id. None for a user without a target left.

    ``part``: ROLLING draws its targets from all of this slice, at most half of its texts.
    """
    ordered = in_order(user_id, documents, seed)
    first, end = part.places(len(ordered))
    ordered = ordered[:end]
    temporal = all(document.timestamp is not None for document in documents)
    answering = [index for index, document in enumerate(ordered) if document.request and index >= first]
    if part != WHOLE and way == ROLLING:
        answering = [index for index in answering if index >= least]
        targets = min(targets, max(len(answering) // 2, 1))
        positions = _drawn(user_id, answering, targets, seed)
    else:
        positions = _choose(user_id, answering, len(ordered), way, targets, least, seed)
    texts = {ordered[position].text for position in positions}
    candidates = [(position, document) for position, document in enumerate(ordered) if document.text not in texts]
    last = min(positions, default=0) if way == LATEST else len(ordered)
    counted = [
        (ordered[position], sum(1 for index, _ in candidates if index < min(position, last))) for position in positions
    ]
    usable = [(target, count) for target, count in counted if count >= least]
    if not usable:
        return None
    reachable = tuple(document for _, document in candidates[: max(count for _, count in usable)])
    return Partition(
        user_id, reachable, tuple(target for target, _ in usable), tuple(count for _, count in usable), temporal
    )


def in_order(user_id: str, documents: Sequence[Document], seed: int) -> list[Document]:
    """Return the documents oldest first; in random order if any has no time."""
    if all(document.timestamp is not None for document in documents):
        return sorted(documents, key=lambda document: document.timestamp or 0.0)
    ordered = list(documents)
    random.Random(f"{seed}:{user_id}").shuffle(ordered)
    return ordered


def _choose(
    user_id: str, answering: list[int], documents: int, way: str, targets: int, least: int, seed: int
) -> list[int]:
    if way == LATEST:
        return answering[-targets:]
    if way != ROLLING:
        raise InputError(f"There is no partition '{way}'; there are {', '.join(WAYS)}.", param="partition")
    return _drawn(user_id, [index for index in answering if index >= max(documents // 2, least)], targets, seed)


def _drawn(user_id: str, indices: list[int], targets: int, seed: int) -> list[int]:
    return sorted(random.Random(f"{seed}:{user_id}:targets").sample(indices, min(targets, len(indices))))


TRAIN, DEV, TEST = "train", "dev", "test"
SPLITS = (TRAIN, DEV, TEST)
SHARES = {TRAIN: 0.45, DEV: 0.15, TEST: 0.40}


def split_of(user_id: str) -> str:
    """Return a user's split, from a hash of the id alone, so that it does not depend on the other users."""
    point = int.from_bytes(hashlib.sha256(f"split:{user_id}".encode()).digest()[:8]) / 2**64
    for name in SPLITS:
        point -= SHARES[name]
        if point < 0:
            return name
    return TEST


def check_split(name: str | None) -> None:
    """Check the name of a split, None for all of them. Raises InputError if there is no such split."""
    if name is not None and name not in SPLITS:
        raise InputError(f"There is no split '{name}'; there are {', '.join(SPLITS)}.", param="split")


def users_of(histories: Mapping[str, Sequence[Document]], split: str | None) -> dict[str, Sequence[Document]]:
    """Return the histories of one split, or all for None. Raises InputError if there is no such split."""
    check_split(split)
    return {user: documents for user, documents in histories.items() if split in (None, split_of(user))}
