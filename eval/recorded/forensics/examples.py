"""Choosing pairs, with their texts, for the example viewer of a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from eval.recorded.forensics.comparison import VoteColumn
from eval.recorded.forensics.pair_files import PAIRS, stream_pairs
from eval.recorded.forensics.pairs import Pair
from eval.recorded.forensics.votes import NO_VOTE, Codes, chooses
from pearl.text.words import character_start

T = TypeVar("T")
OF_A_KIND = 2  # pairs of a kind, of every annotator in every column
MARKS = "ab&0-! "  # by the place of a vote
LONGEST = 6_000  # characters of a text
TOPIC = 60  # characters of a field of the metadata that can be filtered by


@dataclass(frozen=True, slots=True)
class Examples:
    """The example pairs, as the page's viewer takes them (``shown``), and the number of all pairs (``pairs``)."""

    shown: tuple[dict[str, Any], ...]
    pairs: int


def examples_of(columns: Sequence[VoteColumn], annotators: Sequence[str], number: int) -> Examples:
    """Choose at most ``number`` example pairs, for every annotator (id) and column first some on which the annotator
    agrees with the reference, disagrees, or does not choose. Raises InputError when a file cannot be read again."""
    chosen: list[tuple[str, str]] = []  # file and id
    for file in dict.fromkeys(column.file for column in columns):
        chosen += ((file, id) for id in _ids([column for column in columns if column.file == file], annotators, number))
    every = len({(column.file, id) for column in columns for id in column.table.ids})
    wanted: dict[str, set[str]] = defaultdict(set)
    for file, id in _spread(chosen, number):
        wanted[file].add(id)
    places = [{id: place for place, id in enumerate(column.table.ids)} for column in columns]
    shown = []
    for file, ids in wanted.items():
        for name, pair in stream_pairs(Path(file)):
            if name == PAIRS and pair.id in ids:
                ids.remove(pair.id)
                rows = [
                    column.table.codes[place[pair.id]] if column.file == file and pair.id in place else None
                    for column, place in zip(columns, places, strict=True)
                ]
                shown.append(_shown(pair, columns, rows, annotators))
    return Examples(tuple(shown), every)


def _ids(columns: Sequence[VoteColumn], annotators: Sequence[str], number: int) -> Iterable[str]:
    """The ids of a file's pairs: first some of every kind for every annotator, then others, evenly spread."""
    ids: dict[str, None] = {}
    for column in columns:
        table, places = column.table, column.table.places
        for id in annotators:
            if id in places:
                codes = table.codes[:, places[id]]
                both, same = column.chosen & chooses(codes), codes == column.votes
                for kind in (both & same, both & ~same, column.chosen & ~both):
                    ids.update(dict.fromkeys(table.ids[place] for place in np.flatnonzero(kind)[:OF_A_KIND]))
    for column in columns:
        others = [id for id in column.table.ids if id not in ids]
        ids.update(dict.fromkeys(_spread(others, max(number - len(ids), 0))))
    return ids


def _spread(values: Sequence[T], number: int) -> list[T]:
    """At most ``number`` of the values, evenly spread."""
    places = np.linspace(0, len(values) - 1, min(number, len(values))) if values else np.array([])
    return [values[place] for place in np.unique(places.astype(int))]


def _shown(
    pair: Pair, columns: Sequence[VoteColumn], rows: Sequence[Codes | None], annotators: Sequence[str]
) -> dict[str, Any]:
    """Convert a pair for the page's viewer. Votes are one character each: those of the columns' references (blank if
    the pair is not in the column), and those of the annotators (ids). ``rows``: for each column, all votes on the pair,
    or None if the pair is not in the column."""
    references = (NO_VOTE if row is None else row[column.reference] for column, row in zip(columns, rows, strict=True))
    first, votes = next((column, row) for column, row in zip(columns, rows, strict=True) if row is not None)
    places = first.table.places
    topics = [f"{name}: {value}" for name, value in pair.metadata.items() if len(str(value)) <= TOPIC]
    return {
        "id": pair.id,
        "prompt": None if pair.prompt is None else _cut(pair.prompt),
        "texts": [_cut(text) for text in pair.texts],
        "models": [model or "" for model in pair.models],
        "topics": topics,
        "references": "".join(MARKS[code] for code in references),
        "votes": "".join(MARKS[votes[places[id]] if id in places else NO_VOTE] for id in annotators),
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: character_start(text, LONGEST)]} […]"
