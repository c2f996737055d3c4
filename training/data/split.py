"""The split of users: to train, to choose by (early stopping, threshold, y0), and to look at once.

Where users are too few for that, each user's own history is split by time: its first texts train, later ones choose,
and the last are looked at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pearl.errors import InputError
from pearl.partition import ROLLING, WHOLE, Part, in_order, partition
from pearl.records import Document

TRAIN, DEV, TEST = "train", "dev", "test"
SPLITS = (TRAIN, DEV, TEST)
SHARES = {TRAIN: 0.45, DEV: 0.15, TEST: 0.40}
BY_USERS, BY_TIME = "users", "time"
PARTS = {TRAIN: Part(0.0, 0.6), DEV: Part(0.6, 0.8), TEST: Part(0.8, 1.0)}


def split_of(user_id: str) -> str:
    """A user's split, by a hash of the id alone: a user stays where they are when others come or go."""
    place = int.from_bytes(hashlib.sha256(f"split:{user_id}".encode()).digest()[:8]) / 2**64
    for name in SPLITS:
        place -= SHARES[name]
        if place < 0:
            return name
    return TEST


def check_split(name: str | None) -> None:
    """Raises InputError for a name that is no split's; None is all of them."""
    if name is not None and name not in SPLITS:
        raise InputError(f"There is no split '{name}'; there are {', '.join(SPLITS)}.", param="split")


def users_of(histories: Mapping[str, Sequence[Document]], split: str | None) -> dict[str, Sequence[Document]]:
    """The histories of one split, all of them for None. Raises InputError for another name."""
    check_split(split)
    return {user: documents for user, documents in histories.items() if split in (None, split_of(user))}


def way_of(histories: Sequence[Mapping[str, Sequence[Document]]], least: Mapping[str, int], seed: int) -> str:
    """The way to split the histories: by users, or by time if a split has no user with a request and ``least``
    documents before it."""
    for split in SPLITS:
        users = [each for own in histories for each in users_of(own, split).items()]
        if not any(partition(user, own, way=ROLLING, least=least[split], seed=seed) for user, own in users):
            return BY_TIME
    return BY_USERS


def part_of(split: str | None, way: str) -> Part:
    """The part of each user's history that the targets of a split lie in."""
    return WHOLE if way == BY_USERS or split is None else PARTS[split]


def written_in(
    histories: Mapping[str, Sequence[Document]], split: str | None, way: str, seed: int
) -> dict[str, Sequence[Document]]:
    """The documents to learn from in a split: all texts of its users, or by time all texts until its end."""
    if way == BY_USERS or split is None:
        return users_of(histories, split)
    found: dict[str, Sequence[Document]] = {}
    for user, documents in histories.items():
        _, end = PARTS[split].places(len(documents))
        found[user] = in_order(user, documents, seed)[:end]
    return found
