"""The split of histories: by users, or by time where users are too few for that. Then of each user's own history the
first texts train, later ones choose, and the last are looked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pearl.history.partition import ROLLING, WHOLE, HistorySlice, in_order, partition
from pearl.history.split import DEV, SPLITS, TEST, TRAIN, users_of
from pearl.records import Document

BY_USERS, BY_TIME = "users", "time"
PARTS = {TRAIN: HistorySlice(0.0, 0.6), DEV: HistorySlice(0.6, 0.8), TEST: HistorySlice(0.8, 1.0)}


def way_of(histories: Sequence[Mapping[str, Sequence[Document]]], least: Mapping[str, int], seed: int) -> str:
    """The way to split the histories: by users, or by time if a split has no user with a request and ``least``
    documents before it."""
    for split in SPLITS:
        users = [entry for own in histories for entry in users_of(own, split).items()]
        if not any(partition(user, own, way=ROLLING, least=least[split], seed=seed) for user, own in users):
            return BY_TIME
    return BY_USERS


def part_of(split: str | None, way: str) -> HistorySlice:
    """The part of each user's history that the targets of a split lie in."""
    return WHOLE if way == BY_USERS or split is None else PARTS[split]


def written_in(
    histories: Mapping[str, Sequence[Document]], split: str | None, way: str, seed: int
) -> dict[str, Sequence[Document]]:
    """The documents to learn from in a split: all texts of its users, or by time all texts until its end."""
    if way == BY_USERS or split is None:
        return users_of(histories, split)
    written: dict[str, Sequence[Document]] = {}
    for user, documents in histories.items():
        _, end = PARTS[split].places(len(documents))
        written[user] = in_order(user, documents, seed)[:end]
    return written
