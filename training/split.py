"""Which users train, which choose (early stopping, threshold, y0), and which are looked at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pearl.errors import InputError
from pearl.records import Document

TRAIN, DEV, TEST = "train", "dev", "test"
SPLITS = (TRAIN, DEV, TEST)
SHARES = {TRAIN: 0.45, DEV: 0.15, TEST: 0.40}


def split_of(user_id: str) -> str:
    """A user's split, by a hash of the id alone: a user stays where they are when others come or go."""
    place = int.from_bytes(hashlib.sha256(f"split:{user_id}".encode()).digest()[:8]) / 2**64
    for name in SPLITS:
        place -= SHARES[name]
        if place < 0:
            return name
    return TEST


def users_of(histories: Mapping[str, Sequence[Document]], split: str | None) -> dict[str, Sequence[Document]]:
    """The histories of one split, all of them for None. Raises InputError for another name."""
    if split is not None and split not in SPLITS:
        raise InputError(f"There is no split '{split}'; there are {', '.join(SPLITS)}.", param="split")
    return {user: documents for user, documents in histories.items() if split in (None, split_of(user))}
