"""Claims that a person wrote a passage, true and false ones: the trials of ``pearl eval likeness``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.likeness.writers import Claimant, passages
from pearl.records import Request
from retriever.history.lexical import BM25Index, hashed_words

OWN, SAME_DOMAIN, TOPIC_MATCHED = "own", "same_domain", "topic_matched"
OWN_PASSAGES, IMPOSTORS_PASSAGES = 6, 18  # of a person, at each length
ASKED_WORDS = 100  # of a passage, to find one on its topic


@dataclass(frozen=True, slots=True)
class Passage:
    """Text of a known length that somebody wrote after their history."""

    user: str
    words: int
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim that the person at a place among the writers wrote a passage; ``kind`` says who really did."""

    writer: int
    passage: Passage
    kind: str


def claims(writers: Sequence[Claimant], words: int, seed: int) -> list[Claim]:
    """For each writer some of their own later passages, passages by others drawn blindly, and for each own passage the
    passage by somebody else that is nearest to it by BM25."""
    dice = random.Random(f"{seed} {words}")
    every: list[list[Passage]] = []
    for writer in writers:
        mine = [Passage(writer.user, words, text) for text in passages(writer.later, words)]
        every.append(dice.sample(mine, min(OWN_PASSAGES, len(mine))))
    pool = [passage for mine in every for passage in mine]
    if not pool:
        return []
    nearest = _nearest(pool)
    trials = []
    for place, mine in enumerate(every):
        others = [passage for passage in pool if passage.user != writers[place].user]
        drawn = dice.sample(others, min(IMPOSTORS_PASSAGES, len(others))) if mine else []
        trials += [Claim(place, passage, OWN) for passage in mine]
        trials += [Claim(place, passage, SAME_DOMAIN) for passage in drawn]
        trials += [Claim(place, other, TOPIC_MATCHED) for passage in mine if (other := nearest.get(passage))]
    return trials


def _nearest(pool: Sequence[Passage]) -> dict[Passage, Passage]:
    """For each passage the one by somebody else, if there is one, that shares most of its telling words."""
    index = BM25Index(hashed_words([passage.text for passage in pool]))
    users = np.array([passage.user for passage in pool])
    nearest = {}
    for passage in pool:
        others = users != passage.user
        if others.any():
            scores = index.scores(Request(" ".join(passage.text.split()[:ASKED_WORDS])))
            nearest[passage] = pool[int(np.where(others, scores, -np.inf).argmax())]
    return nearest
