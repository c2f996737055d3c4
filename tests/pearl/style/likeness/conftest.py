from __future__ import annotations

import random
from collections.abc import Callable

import pytest

OPENINGS = ("Honestly ,", "Well then :", "As far as I can see", "Right ;", "To be fair ,", "Oh ,")
LINKS = ("and so", "but still", "because", "; however ,", "- which is why", "although")
ENDINGS = (".", "!", "...", " , I think .", " :)", " . Cheers .")
NOUNS = ("tide", "kettle", "garden", "train", "letter", "harbour", "window", "piano")
VERBS = ("waits", "sings", "leaves", "stays", "turns", "opens")


@pytest.fixture
def texts_by() -> Callable[[int, int], list[str]]:
    """Texts about anything by invented people, whose habits are their number's."""

    def write(person: int, count: int) -> list[str]:
        dice = random.Random(person)

        def sentence() -> str:
            def mine(habits: tuple[str, ...]) -> str:
                return habits[person % len(habits)] if dice.random() < 0.6 else dice.choice(habits)

            one, other = dice.choice(NOUNS), dice.choice(NOUNS)
            return (
                f"{mine(OPENINGS)} the {one} {dice.choice(VERBS)} {mine(LINKS)} the {other} "
                f"{dice.choice(VERBS)}{mine(ENDINGS)}"
            )

        return [" ".join(sentence() for _ in range(5)) for _ in range(count)]

    return write
