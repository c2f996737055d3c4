"""The random choices in a run of a judge: the sample of items, and the order in which two texts are shown."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
BOTH, RANDOM = "both", "random"
ORDERS = {
    BOTH: "every run asks in both orders, so that a preference for a position cancels out and is measured",
    RANDOM: "each run of each item draws one order",
}


def sampled(items: Sequence[T], limit: int | None, seed: int) -> tuple[T, ...]:
    """Draw at most ``limit`` items at random; they keep their order."""
    if limit is None or limit >= len(items):
        return tuple(items)
    return tuple(items[place] for place in sorted(random.Random(seed).sample(range(len(items)), limit)))


def orders(order: str, item_id: str, run: int, seed: int) -> tuple[bool, ...]:
    """One flag per order to ask in: True when the second text comes first."""
    if order == BOTH:
        return False, True
    return (random.Random(f"{seed} {run} {item_id}").random() < 0.5,)
