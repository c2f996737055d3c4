"""Algorithm 1 of papers/pearl.txt: which requests train the retriever, and with which documents."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pearl.errors import InputError
from training.config import KEPT_SHARE, SUM
from training.data.records import Example


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """Parameters of Algorithm 1: the share of requests to keep, the number of positives of a request, and of negatives
    of a positive. ``normalize``: whether a gain is the sum or the mean over the tokens of what the user wrote."""

    normalize: str = SUM
    share: float = KEPT_SHARE
    positives: int = 2
    negatives: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The requests that Algorithm 1 keeps, and the groups that it makes: a positive document with its negatives."""

    requests: list[Example]
    groups: list[Example]

    @property
    def positive_gains(self) -> list[float]:
        return [float(group.gains[0]) for group in self.groups]


def select(examples: Sequence[Example], options: SelectionOptions) -> Selection:
    """Run Algorithm 1: select requests, then groups. Raises InputError for a gain that is not a number."""
    requests = select_requests(examples, options.share)
    groups = select_groups(requests, positives=options.positives, negatives=options.negatives, seed=options.seed)
    return Selection(requests, groups)


def select_requests(examples: Sequence[Example], share: float = KEPT_SHARE) -> list[Example]:
    """Keep the ``share`` of requests whose best document gains most, in each domain (kind of text), in the order given;
    ties are broken by id. Raises InputError for a gain that is not a number."""
    for example in examples:
        if not len(example.gains) or not np.isfinite(example.gains).all():
            raise InputError(
                f"Request '{example.request_id}' of user '{example.user_id}' has no candidate or a gain that is not a "
                "number; score it again."
            )
    keys = set()
    for domain in {example.domain for example in examples}:
        own = [example for example in examples if example.domain == domain]
        ranked = sorted(own, key=lambda example: (-float(example.gains.max()), *example.key))
        keys |= {example.key for example in ranked[: math.ceil(len(own) * share)]}
    return [example for example in examples if example.key in keys]


def select_groups(
    examples: Sequence[Example], *, positives: int = 2, negatives: int = 3, seed: int = 0
) -> list[Example]:
    """Make a training group of each of a request's best candidates, with random other candidates as negatives.

    The groups of a request share negatives only if there are too few candidates; a group without a negative is left
    out.
    """
    groups = []
    for example in examples:
        order = [(-float(gain), document.id) for gain, document in zip(example.gains, example.documents, strict=True)]
        ranked = sorted(range(len(order)), key=order.__getitem__)
        best, others = ranked[:positives], ranked[positives:]
        random.Random(f"{seed}:{example.user_id}:{example.request_id}").shuffle(others)
        for position, positive in enumerate(best):
            mine = others[position * negatives : (position + 1) * negatives]
            mine += [other for other in others if other not in mine][: negatives - len(mine)]
            if mine:
                groups.append(example.group([positive, *mine]))
    return groups
