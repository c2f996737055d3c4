"""Which scored requests are learned from, chosen by, and measured with, also where a split has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pearl.errors import InputError
from training.examples import Example
from training.split import DEV, SPLITS, TEST, TRAIN


@dataclass(frozen=True, slots=True)
class Division:
    """``learned`` and ``asked`` name the splits whose users ``train`` and ``dev`` are of; ``notes`` say what could not
    be as it should."""

    learned: str
    asked: str
    train: list[Example]
    dev: list[Example]
    test: list[Example]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, found: Mapping[str, list[Example]]) -> Division:
        """From the examples of each split. Whoever is learned from is not measured with. Raises InputError for none."""
        learned = next((split for split in SPLITS if found.get(split)), None)
        if learned is None:
            raise InputError(
                "There is no scored request to learn from: no user has enough documents, or the budget ended before "
                "one was scored; give more history, or more minutes.",
                code="nothing_to_learn",
            )
        notes = []
        if learned != TRAIN:
            notes.append(f"no user of the training split has enough documents: learned from those of '{learned}'")
        dev = found.get(DEV, []) if learned == TRAIN else []
        if not dev:
            notes.append("no other user is left to choose by: y0, tau and early stopping were chosen on the same users")
        test = found.get(TEST, []) if learned != TEST else []
        return cls(learned, DEV if dev else learned, found[learned], dev or found[learned], test, tuple(notes))
