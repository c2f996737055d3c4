"""The gain of several documents in one prompt: y(S) = log p(t given S, q) - log p(t given q).

Gains do not add: a second document that says what the first said adds little. Measured are the best documents of a
request by a retriever, each alone, and the sets of two and three that hold the best of them, which is shown in any
case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from pearl.records import Document, Request
from pearl.whole_files import opened
from retriever.base import Retriever, oldest_first
from retriever.models.auxiliary import Group
from training.data.histories import times_of_all_or_none
from training.gains.scores import read_table
from training.gains.scoring import Scorer
from training.gains.units import ScoringOptions, partitions

LARGEST = 3
SCHEMA = pa.schema(
    [
        ("user_id", pa.string()),
        ("request_id", pa.string()),
        ("document_ids", pa.list_(pa.string())),
        ("log_p_with", pa.float64()),
        ("log_p_without", pa.float64()),
        ("target_tokens", pa.int32()),
    ]
)

Places = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetUnit:
    """A request's target and its documents, best first; all sets of it are one piece of work. ``scores`` are the
    retriever's of the documents."""

    name: str
    user_id: str
    target: Document
    documents: tuple[Document, ...]
    scores: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.sets())

    def sets(self) -> list[Places]:
        """Places among the documents, best first: each alone, and up to LARGEST of them together with the best."""
        alone = [(place,) for place in range(len(self.documents))]
        rest = range(1, len(self.documents))
        return alone + [(0, *others) for size in range(1, LARGEST) for others in combinations(rest, size)]


def plan_sets(
    histories: Mapping[str, Sequence[Document]], options: ScoringOptions, retriever: Retriever, documents: int
) -> Iterator[SetUnit]:
    """Each request of the plan with its ``documents`` best by the retriever.

    Raises InputError when no user has a request with ``least_candidates`` documents before it.
    """
    for number, part in enumerate(partitions(histories, options)):
        for place, (target, candidates) in enumerate(part.requests()):
            *before, target = times_of_all_or_none([*candidates, target])
            best = retriever.rank(Request(target.request or "", target.timestamp), before)[:documents]
            yield SetUnit(
                f"{number:06d}-{place:04d}",
                part.user_id,
                target,
                tuple(scored.document for scored in best),
                tuple(scored.score for scored in best),
            )


class SetScorer:
    """Scores sets as ``scorer`` scores single documents: with its model, its prompts and its limits."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def score(self, unit: SetUnit) -> pa.Table:
        """A row for each set; raises InputError where a likelihood is not a number."""
        scorer = self._scorer
        target, request = scorer.target_tokens(unit.target), scorer.request_text(unit.target)
        # the best stands last in the prompt, so sets with the same last place begin alike and are computed together
        groups = [[places for places in unit.sets() if places[-1] == last] for last in range(len(unit.documents))]
        prompts = [
            [scorer.prompts([unit.documents[place] for place in places], [request])[0] for places in group]
            for group in groups
        ]
        likelihoods = scorer.model.likelihoods([Group(tuple(mine), (target,) * len(mine)) for mine in prompts])
        without = scorer.without(unit.user_id, {unit.target.id: target}, {unit.target.id: request})[unit.target.id]
        scorer.check_finite(
            [without.total, *(likelihood.total for mine in likelihoods for likelihood in mine)], unit.user_id
        )
        rows = [
            {
                "user_id": unit.user_id,
                "request_id": unit.target.id,
                "document_ids": [unit.documents[place].id for place in places],
                "log_p_with": likelihood.total,
                "log_p_without": without.total,
                "target_tokens": likelihood.tokens,
            }
            for group, scored in zip(groups, likelihoods, strict=True)
            for places, likelihood in zip(group, scored, strict=True)
        ]
        return pa.Table.from_pylist(rows, SCHEMA)


def write_sets(units: Sequence[SetUnit], folder: Path, out: Path, retriever: str) -> int:
    """The gains file of the requests with their sets, as ``pearl eval`` reads it, whole or not at all; the number of
    sets. ``retriever`` is the fingerprint of the one whose scores they are. Raises InputError for a broken part."""
    sets = 0
    with opened(out) as file:
        for unit in units:
            rows = read_table(folder / f"{unit.name}.parquet").to_pylist()
            gains = {tuple(row["document_ids"]): round(row["log_p_with"] - row["log_p_without"], 4) for row in rows}
            order = list(oldest_first(unit.documents))
            documents = [unit.documents[place] for place in order]
            places = {document.id: place for place, document in enumerate(documents)}
            together = [
                {"documents": [places[id] for id in ids], "gain": gain} for ids, gain in gains.items() if len(ids) > 1
            ]
            line = {
                "user_id": unit.user_id,
                "id": unit.target.id,
                "timestamp": unit.target.timestamp,
                "request": unit.target.request,
                "target": unit.target.text,
                "documents": [asdict(document) for document in documents],
                "gain": [gains[document.id,] for document in documents],
                "score": [round(unit.scores[place], 4) for place in order],
                "retriever": retriever,
                "sets": together,
            }
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
            sets += len(together)
    return sets
