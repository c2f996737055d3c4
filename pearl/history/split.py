"""The split of users: train to fit, dev to choose by (early stopping, threshold, y0), test to measure once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pearl.errors import InputError
from pearl.records import Document

TRAIN, DEV, TEST = "train", "dev", "test"
SPLITS = (TRAIN, DEV, TEST)
SHARES = {TRAIN: 0.45, DEV: 0.15, TEST: 0.40}


def split_of(user_id: str) -> str:
    """A user's split, by a hash of the id alone, so that it does not change when other users come or go."""
    point = int.from_bytes(hashlib.sha256(f"split:{user_id}".encode()).digest()[:8]) / 2**64
    for name in SPLITS:
        point -= SHARES[name]
        if point < 0:
            return name
    return TEST


def check_split(name: str | None) -> None:
    """Raise InputError if ``name`` is no split; None stands for all of them."""
    if name is not None and name not in SPLITS:
        raise InputError(f"There is no split '{name}'; there are {', '.join(SPLITS)}.", param="split")


def users_of(histories: Mapping[str, Sequence[Document]], split: str | None) -> dict[str, Sequence[Document]]:
    """The histories of one split, all of them for None. Raises InputError for another name."""
    check_split(split)
    return {user: documents for user, documents in histories.items() if split in (None, split_of(user))}
