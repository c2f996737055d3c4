"""The split of histories: by users, or by time if there are too few users. By time, each user's first texts are to
train on, later texts to choose by, and the last texts to measure with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.partition import (
    DEV,
    ROLLING,
    SPLITS,
    TEST,
    TRAIN,
    WHOLE,
    HistorySlice,
    in_order,
    partition,
    users_of,
)
from training.data.records import Example

BY_USERS, BY_TIME = "users", "time"
PARTS = {TRAIN: HistorySlice(0.0, 0.6), DEV: HistorySlice(0.6, 0.8), TEST: HistorySlice(0.8, 1.0)}


def way_of(histories: Sequence[Mapping[str, Sequence[Document]]], least: Mapping[str, int], seed: int) -> str:
    """Return how to split the histories: by users, or by time if by users a split would have no user who has a request
    with ``least`` documents before it."""
    for split in SPLITS:
        users = [entry for own in histories for entry in users_of(own, split).items()]
        if not any(partition(user, own, way=ROLLING, least=least[split], seed=seed) for user, own in users):
            return BY_TIME
    return BY_USERS


def part_of(split: str | None, way: str) -> HistorySlice:
    """Return the part of each user's history from which a split takes its targets, the texts to be written again."""
    return WHOLE if way == BY_USERS or split is None else PARTS[split]


def written_in(
    histories: Mapping[str, Sequence[Document]], split: str | None, way: str, seed: int
) -> dict[str, Sequence[Document]]:
    """Return the documents of a split by user: all texts of its users, or, by time, all users' texts until its end."""
    if way == BY_USERS or split is None:
        return users_of(histories, split)
    written: dict[str, Sequence[Document]] = {}
    for user, documents in histories.items():
        _, end = PARTS[split].places(len(documents))
        written[user] = in_order(user, documents, seed)[:end]
    return written


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
class DataSplit:
    """The examples to train on (``train``) and to choose by (``dev``). ``learned``, ``asked``: the splits that these
    are from; ``way``: how the splits were made; ``notes``: warnings."""

    learned: str
    asked: str
    train: list[Example]
    dev: list[Example]
    way: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, examples: Mapping[str, list[Example]], unscored: Set[str] = frozenset(), way: str = BY_USERS
    ) -> DataSplit:
        """Assign the examples of each split to training and choosing. ``unscored``: splits for which the budget ended
        too early; ``way``: how the splits were made. Raises InputError if there are no examples."""
        learned = next((split for split in SPLITS if examples.get(split)), None)
        if learned is None:
            why = (
                "the budget ended before one was scored; give more minutes"
                if unscored
                else "no user has enough documents before a text that answers a request, not counting copies of it; "
                "give more history"
            )
            raise InputError(f"There is no scored request to learn from: {why}.")
        notes = []
        if learned != TRAIN:
            why = f"{OVER[way]} of the training split" if TRAIN in unscored else NOTHING_TO_LEARN_FROM[way]
            notes.append(f"{why}: learned from those of '{learned}'")
        dev = examples.get(DEV, []) if learned == TRAIN else []
        if not dev:
            why = f"{OVER[way]} to choose by" if learned == TRAIN and DEV in unscored else NOTHING_TO_CHOOSE_BY[way]
            notes.append(f"{why}: y0, tau and early stopping were chosen on {SAME[way]}")
        return cls(learned, DEV if dev else learned, examples[learned], dev or examples[learned], way, tuple(notes))
