"""The division of scored requests into those to learn from, choose by and measure with, even if a split has none."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from pearl.errors import InputError
from pearl.history.split import DEV, SPLITS, TRAIN
from training.data.records import Example
from training.data.split import BY_TIME, BY_USERS

NOTHING_TO_LEARN_FROM = {
    BY_USERS: "no user of the training split has enough documents",
    BY_TIME: "the first part of the histories has too few documents with requests",
}
NOTHING_TO_CHOOSE_BY = {
    BY_USERS: "no other user is left to choose by",
    BY_TIME: "no later text is left to choose by",
}
SAME = {BY_USERS: "the same users", BY_TIME: "the same texts"}
OVER = {BY_USERS: "the budget ended before a user was scored", BY_TIME: "the budget ended before a request was scored"}


@dataclass(frozen=True, slots=True)
class Division:
    """``learned`` and ``asked`` name the splits that ``train`` and ``dev`` are of; ``notes`` say what could not be as
    it should."""

    learned: str
    asked: str
    train: list[Example]
    dev: list[Example]
    way: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, examples: Mapping[str, list[Example]], unscored: Set[str] = frozenset(), way: str = BY_USERS
    ) -> Division:
        """A division of each split's examples; ``unscored``: splits for which the budget ended too early; ``way``: how
        they were made. Raises InputError for none.
        """
        learned = next((split for split in SPLITS if examples.get(split)), None)
        if learned is None:
            why = (
                "the budget ended before one was scored; give more minutes"
                if unscored
                else "no user has enough documents before a text that answers a request, not counting copies of it; "
                "give more history"
            )
            raise InputError(
                f"There is no scored request to learn from: {why}.",
                code="nothing_to_learn",
            )
        notes = []
        if learned != TRAIN:
            why = f"{OVER[way]} of the training split" if TRAIN in unscored else NOTHING_TO_LEARN_FROM[way]
            notes.append(f"{why}: learned from those of '{learned}'")
        dev = examples.get(DEV, []) if learned == TRAIN else []
        if not dev:
            why = f"{OVER[way]} to choose by" if learned == TRAIN and DEV in unscored else NOTHING_TO_CHOOSE_BY[way]
            notes.append(f"{why}: y0, tau and early stopping were chosen on {SAME[way]}")
        return cls(learned, DEV if dev else learned, examples[learned], dev or examples[learned], way, tuple(notes))
