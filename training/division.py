"""Which scored requests are learned from, chosen by, and measured with, also where a split has none."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from pearl.errors import InputError
from training.examples import Example
from training.split import DEV, SPLITS, TEST, TRAIN

NOBODY_TO_LEARN_FROM = "no user of the training split has enough documents"
NOBODY_TO_CHOOSE_BY = "no other user is left to choose by"
OVER = "the budget ended before a user was scored"


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
    def of(cls, found: Mapping[str, list[Example]], unscored: Set[str] = frozenset()) -> Division:
        """From the examples of each split; ``unscored`` are those for which the budget ended too early.

        Whoever is learned from is not measured with. Raises InputError for none.
        """
        learned = next((split for split in SPLITS if found.get(split)), None)
        if learned is None:
            raise InputError(
                "There is no scored request to learn from: no user has enough documents, or the budget ended before "
                "one was scored; give more history, or more minutes.",
                code="nothing_to_learn",
            )
        notes = []
        if learned != TRAIN:
            why = f"{OVER} of the training split" if TRAIN in unscored else NOBODY_TO_LEARN_FROM
            notes.append(f"{why}: learned from those of '{learned}'")
        dev = found.get(DEV, []) if learned == TRAIN else []
        if not dev:
            why = f"{OVER} to choose by" if learned == TRAIN and DEV in unscored else NOBODY_TO_CHOOSE_BY
            notes.append(f"{why}: y0, tau and early stopping were chosen on the same users")
        test = found.get(TEST, []) if learned != TEST else []
        return cls(learned, DEV if dev else learned, found[learned], dev or found[learned], test, tuple(notes))
