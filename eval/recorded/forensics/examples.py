"""Pairs for the example viewer of a report: some of every kind, with their texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.recorded.forensics.comparison import VoteColumn
from eval.recorded.forensics.pair_files import PAIRS, stream_pairs
from eval.recorded.forensics.pairs import Pair
from eval.recorded.forensics.votes import NO_VOTE, A, B, Mask

EACH = 2  # pairs of a kind, of every annotator in every column
MARKS = "ab&0-! "  # by the place of a vote
LONGEST = 6_000  # characters of a text
TOPIC = 60  # characters of a field of the metadata that can be filtered by


@dataclass(frozen=True, slots=True)
class Examples:
    """Pairs as the page shows them, and how many there are in all."""

    shown: tuple[dict[str, Any], ...]
    pairs: int


def examples_of(columns: Sequence[VoteColumn], annotators: Sequence[str], number: int) -> Examples:
    """At most ``number`` pairs: agreeing, disagreeing and other ones of every annotator (ids) in every column first.

    Raises InputError when a file cannot be read again.
    """
    chosen: list[tuple[str, str]] = []  # file and id
    for file in dict.fromkeys(column.file for column in columns):
        chosen += ((file, id) for id in _ids([column for column in columns if column.file == file], annotators, number))
    every = len({(column.file, id) for column in columns for id in column.table.ids})
    some = chosen if len(chosen) <= number else [chosen[place] for place in _spread(len(chosen), number)]
    wanted: dict[str, set[str]] = {}
    for file, id in some:
        wanted.setdefault(file, set()).add(id)
    places = [{id: place for place, id in enumerate(column.table.ids)} for column in columns]
    shown = []
    for file, ids in wanted.items():
        for pair in _read(Path(file), ids):
            at = [
                place.get(pair.id) if column.file == file else None
                for column, place in zip(columns, places, strict=True)
            ]
            shown.append(_shown(pair, _marks(columns, at), _votes(columns, at, annotators)))
    return Examples(tuple(shown), every)


def _ids(columns: Sequence[VoteColumn], annotators: Sequence[str], number: int) -> Iterable[str]:
    """The ids of pairs of a file: those of every kind first, then any, evenly spread."""
    found: dict[str, None] = {}
    for column in columns:
        table, reference = column.table, column.table.codes[:, column.reference]
        places = {each.id: place for place, each in enumerate(table.annotators)}
        for id in annotators:
            if id in places:
                codes = table.codes[:, places[id]]
                votes = column.chosen & ((codes == A) | (codes == B))
                for kind in (votes & (codes == reference), votes & (codes != reference), column.chosen & ~votes):
                    found.update(dict.fromkeys(table.ids[place] for place in _some(kind)))
    for column in columns:
        others = [id for id in column.table.ids if id not in found]
        found.update(dict.fromkeys(others[place] for place in _spread(len(others), max(number - len(found), 0))))
    return found


def _some(kind: Mask) -> Sequence[int]:
    return [int(place) for place in np.flatnonzero(kind)[:EACH]]


def _spread(length: int, number: int) -> Sequence[int]:
    """At most ``number`` places, evenly over a length."""
    return (
        [int(place) for place in np.unique(np.linspace(0, length - 1, min(number, length)).astype(int))]
        if length
        else []
    )


def _read(path: Path, ids: set[str]) -> Iterable[Pair]:
    left = set(ids)
    for name, value in stream_pairs(path):
        if name == PAIRS and value.id in left:
            left.remove(value.id)
            yield value


def _marks(columns: Sequence[VoteColumn], at: Sequence[int | None]) -> str:
    """The vote of each column's reference as a character; a blank where the pair is not in the column."""
    codes = [
        NO_VOTE if place is None else column.table.codes[place, column.reference]
        for column, place in zip(columns, at, strict=True)
    ]
    return "".join(MARKS[code] for code in codes)


def _votes(columns: Sequence[VoteColumn], at: Sequence[int | None], annotators: Sequence[str]) -> str:
    """The votes of the annotators (ids) as characters."""
    for column, place in zip(columns, at, strict=True):
        if place is not None:
            row = dict(zip((each.id for each in column.table.annotators), column.table.codes[place], strict=True))
            return "".join(MARKS[row.get(id, NO_VOTE)] for id in annotators)
    return MARKS[NO_VOTE] * len(annotators)


def _shown(pair: Pair, references: str, votes: str) -> dict[str, Any]:
    topics = [f"{name}: {value}" for name, value in pair.metadata.items() if len(str(value)) <= TOPIC]
    return {
        "id": pair.id,
        "prompt": None if pair.prompt is None else _cut(pair.prompt),
        "texts": [_cut(text) for text in pair.texts],
        "models": [model or "" for model in pair.models],
        "topics": topics,
        "references": references,
        "votes": votes,
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
