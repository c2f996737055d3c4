"""Texts in the pieces that a stream may bring."""

from __future__ import annotations

import random


def split(text: str, chance: random.Random) -> list[str]:
    """The text in one to seven pieces, of which some may be empty."""
    places = sorted(chance.choices(range(len(text) + 1), k=chance.randint(0, 6)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
