"""The units of work in scoring a history: some candidates of one user, with that user's requests."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.history.partition import LATEST, Partition, partition, users_of
from retriever.history.lexical import BM25Index, hashed_words
from training.data.split import BY_USERS, part_of

NOTHING_TO_SCORE = "nothing_to_score"
DOCUMENTS_PER_UNIT = 32
TARGETS_PER_PIECE = 8


@dataclass(frozen=True, slots=True)
class GainOptions:
    """Options of scoring: targets (texts to be written again) of a user, candidates of a request (None: all), and
    limits in tokens (``request_tokens`` 0: none). ``examples``: how many random texts a prompt without a document
    shows; ``way``: whether splits are by users or by time."""

    template: str
    split: str | None = None
    partition: str = LATEST
    targets: int = 8
    candidates: int | None = 20
    least_candidates: int = 1
    users: int | None = None
    target_tokens: int = 128
    document_tokens: int = 160
    request_tokens: int = 256
    examples: int = 2
    seed: int = 0
    way: str = BY_USERS


@dataclass(frozen=True, slots=True)
class ScoringUnit:
    """A unit of work in scoring: some documents of a user, and which of them to score for each of the user's
    requests."""

    name: str
    user_id: str
    documents: tuple[Document, ...]
    pairs: tuple[tuple[Document, frozenset[str]], ...]  # request's target, ids of its candidates in this unit

    @property
    def size(self) -> int:
        return sum(len(ids) for _, ids in self.pairs)


def plan_units(histories: dict[str, list[Document]], options: GainOptions) -> list[ScoringUnit]:
    """Divide the scoring into units (some documents of a user), in an order that depends only on histories and options.

    Raises InputError when no user has both a target and a candidate.
    """
    usable = partitions(histories, options)
    if options.way == BY_USERS:
        return [unit for number, own in enumerate(usable) for unit in _units(f"{number:06d}", own, options)]
    # a few targets of each user at a time: an unfinished run then has whole requests, from all over the histories
    pieces = [
        (place, number, piece) for number, own in enumerate(usable) for place, piece in enumerate(_pieces(own, options))
    ]
    return [
        unit
        for place, number, piece in sorted(pieces, key=lambda numbered: numbered[:2])
        for unit in _units(f"{number:06d}-{place:04d}", piece, options)
    ]


def partitions(histories: Mapping[str, Sequence[Document]], options: GainOptions) -> list[Partition]:
    """Return targets and candidates of a split's users, in random order. Raises InputError if no user has both."""
    mine = users_of(histories, options.split if options.way == BY_USERS else None)
    part = part_of(options.split, options.way)
    names = sorted(mine)
    random.Random(options.seed).shuffle(names)  # so that the first users of an unfinished run are a fair sample
    parts = (
        partition(
            name,
            mine[name],
            way=options.partition,
            targets=options.targets,
            least=options.least_candidates,
            seed=options.seed,
            part=part,
        )
        for name in names
    )
    usable = [part for part in parts if part is not None][: options.users]
    if not usable:
        raise InputError(
            f"No user has a document that answers a request and {options.least_candidates} before it, not counting "
            f"copies of it; there is nothing to score{_without_requests(mine)}.",
            code=NOTHING_TO_SCORE,
        )
    return usable


def _without_requests(histories: Mapping[str, Sequence[Document]]) -> str:
    documents = [document for own in histories.values() for document in own]
    if not documents or any(document.request for document in documents):
        return ""
    return f" (none of {len(documents):,} documents has a request: make them with 'pearl train requests')"


def _pieces(part: Partition, options: GainOptions) -> Iterator[Partition]:
    targets = list(zip(part.targets, part.before, strict=True))
    random.Random(f"{options.seed}:{part.user_id}:pieces").shuffle(targets)
    for start in range(0, len(targets), TARGETS_PER_PIECE):
        some, before = zip(*targets[start : start + TARGETS_PER_PIECE], strict=True)
        yield replace(part, targets=some, before=before)


def _units(name: str, part: Partition, options: GainOptions) -> Iterator[ScoringUnit]:
    wanted = [
        (
            target,
            frozenset(
                document.id
                for document in sample_candidates(
                    target.request or "", candidates, options.candidates, seed=f"{options.seed}:{part.user_id}"
                )
            ),
        )
        for target, candidates in part.requests()
    ]
    used = frozenset().union(*(ids for _, ids in wanted))
    documents = [document for document in part.documents if document.id in used]
    for start in range(0, len(documents), DOCUMENTS_PER_UNIT):
        some = tuple(documents[start : start + DOCUMENTS_PER_UNIT])
        here = frozenset(document.id for document in some)
        pairs = tuple((target, ids & here) for target, ids in wanted if ids & here)
        yield ScoringUnit(f"{name}-{start // DOCUMENTS_PER_UNIT:04d}", part.user_id, some, pairs)


def target_texts(units: Iterable[ScoringUnit]) -> set[str]:
    """Return the texts in the units that users really wrote for requests."""
    return {target.text for unit in units for target, _ in unit.pairs}


def sample_candidates(request: str, candidates: Sequence[Document], count: int | None, *, seed: str) -> list[Document]:
    """Sample ``count`` candidates: a third by BM25, a third the most recent, the rest at random; None takes all.

    The order of the candidates is kept. One ``seed`` for all requests of a user keeps their samples alike.
    """
    if count is None or len(candidates) <= count:
        return list(candidates)
    third = count // 3
    scores = BM25Index(hashed_words([document.text for document in candidates])).scores(Request(request))
    best = sorted(range(len(candidates)), key=lambda position: -scores[position])[:third]
    chosen = {*best, *range(len(candidates) - third, len(candidates))}
    rest = [position for position in range(len(candidates)) if position not in chosen]
    chosen.update(random.Random(seed).sample(rest, count - len(chosen)))
    return [candidates[position] for position in sorted(chosen)]
