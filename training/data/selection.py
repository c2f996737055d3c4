"""Algorithm 1 of papers/pearl.txt: which requests train the retriever, and with which documents."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pearl.errors import InputError

KEPT_SHARE = 2 / 3
POSITIVES = 2
NEGATIVES = 3
SUM, MEAN = "sum", "mean"


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """Algorithm 1's parameters. ``normalize``: the gain as a sum over the target's tokens, or as their mean."""

    normalize: str = SUM
    share: float = KEPT_SHARE
    positives: int = POSITIVES
    negatives: int = NEGATIVES
    seed: int = 0


def check_normalize(name: str) -> None:
    if name not in (SUM, MEAN):
        raise InputError(f"--normalize {name}: there are {SUM} and {MEAN}.", param="normalize")


@dataclass(frozen=True, slots=True)
class ScoredRequest:
    """A request and the gain (nats) of each of its candidates, by document id; ``target_tokens`` 0 where no model
    read the target."""

    user_id: str
    request_id: str
    gains: Mapping[str, float]
    target_tokens: int = 0

    @property
    def best(self) -> float:
        return max(self.gains.values())


@dataclass(frozen=True, slots=True)
class TrainingGroup:
    """One positive with its negatives; G = 1 + N document ids, the positive first, and their gains in that order."""

    user_id: str
    request_id: str
    documents: tuple[str, ...]
    gains: tuple[float, ...]


def select_requests(requests: Sequence[ScoredRequest], share: float = KEPT_SHARE) -> list[ScoredRequest]:
    """The ``share`` of requests with the best best candidate, over all users; equal ones by id. In the given order.

    Raises InputError for a gain that is not a number.
    """
    for request in requests:
        if not request.gains or not all(math.isfinite(gain) for gain in request.gains.values()):
            raise InputError(
                f"Request '{request.request_id}' of user '{request.user_id}' has no candidate or a gain that is not a "
                "number; score it again.",
                code="not_finite",
            )
    ranked = sorted(requests, key=lambda request: (-request.best, request.user_id, request.request_id))
    kept = {(request.user_id, request.request_id) for request in ranked[: math.ceil(len(requests) * share)]}
    return [request for request in requests if (request.user_id, request.request_id) in kept]


def select_groups(
    requests: Sequence[ScoredRequest], *, positives: int = POSITIVES, negatives: int = NEGATIVES, seed: int = 0
) -> list[TrainingGroup]:
    """Groups of each request's best candidates, each with random other candidates of the same user as negatives.

    The negatives of one request are all different where there are enough; a request with fewer than
    ``positives + negatives`` candidates gives fewer groups, and none without a negative.
    """
    groups = []
    for request in requests:
        ranked = sorted(request.gains, key=lambda id: (-request.gains[id], id))
        best, others = ranked[:positives], ranked[positives:]
        random.Random(f"{seed}:{request.user_id}:{request.request_id}").shuffle(others)
        for position, positive in enumerate(best):
            mine = others[position * negatives : (position + 1) * negatives]
            mine += [other for other in others if other not in mine][: negatives - len(mine)]
            if mine:
                ids = (positive, *mine)
                gains = tuple(request.gains[id] for id in ids)
                groups.append(TrainingGroup(request.user_id, request.request_id, ids, gains))
    return groups
