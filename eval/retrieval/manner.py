"""Telling authors apart by the voice card alone: two authors' cards, and ten later texts of one of them.

An author's last ten texts are held back from their card. Authors are halved by a digest of their name: one half gives
the figures over many authors and is for tuning, the other is measured.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from eval.report.tables import Json, Table, shown
from pearl.errors import InputError
from pearl.history import read_histories
from pearl.manner.reference import ANY, Reference
from pearl.manner.telling import likeness_of_manner
from pearl.manner.traits import TRAITS
from pearl.manner.writing import Writing
from pearl.stats import Bootstrap, Floats

HELD_BACK, LEAST_CARD, MOST_CARD = 10, 10, 60  # texts
SPLITS = ("dev", "test")
METHODS = ("card", "traits", "words", "length")


@dataclass(frozen=True, slots=True)
class Author:
    """An author's texts for the card, oldest first, and the later ones that are held back."""

    name: str
    card: tuple[str, ...]
    held_back: tuple[str, ...]


def authors_of(path: Path, split: str, most: int, seed: int) -> list[Author]:
    """At most so many authors of one half who wrote enough. Raises InputError for fewer than two."""
    found = []
    for name, documents in sorted(read_histories(path, timestamp_required=True).items()):
        if split_of(name) == split and len(documents) >= LEAST_CARD + HELD_BACK:
            by_time = sorted(documents, key=lambda document: document.timestamp or 0.0)[-MOST_CARD - HELD_BACK :]
            texts = tuple(document.text for document in by_time)
            found.append(Author(name, texts[:-HELD_BACK], texts[-HELD_BACK:]))
    if len(found) < 2:
        raise InputError(
            f"{path}: fewer than two authors of the {split} half have {LEAST_CARD + HELD_BACK} texts.", param="history"
        )
    return random.Random(seed).sample(found, min(most, len(found)))


def split_of(name: str) -> str:
    return SPLITS[sha256(name.encode()).digest()[0] % 2]


def manner_figures(name: str, authors: Sequence[Author], reference: Reference) -> dict[str, Any]:
    """The share of pairs in which held-back texts lie nearer to their own author's card, by method."""
    cards, texts = (
        [reference.standardised(part) for part in parts]
        for parts in ([author.card for author in authors], [author.held_back for author in authors])
    )
    kinds: dict[str, Floats] = {
        "card": _likenesses(cards, texts),
        "traits": _likenesses(
            [_only(each, words=False) for each in cards], [_only(each, words=False) for each in texts]
        ),
        "words": _likenesses([_only(each, words=True) for each in cards], [_only(each, words=True) for each in texts]),
        "length": _lengths(authors),
    }
    bootstrap = Bootstrap([author.name for author in authors])
    return {
        "history": name,
        "kind": reference.kind,
        "reference_authors": reference.authors,
        "authors": len(authors),
        "pairs": len(authors) * (len(authors) - 1),
        "chance": 0.5,
        **{method: bootstrap.mean(_right(kinds[method])).to_json() for method in METHODS},
    }


def _likenesses(cards: Sequence[Floats], texts: Sequence[Floats]) -> Floats:
    """The likeness of each author's texts to each card, (A, A)."""
    return np.array([[likeness_of_manner(card, own) for card in cards] for own in texts])


def _only(rates: Floats, *, words: bool) -> Floats:
    kept = rates.copy()
    kept[slice(0, len(TRAITS)) if words else slice(len(TRAITS), None)] = 0.0
    return kept


def _lengths(authors: Sequence[Author]) -> Floats:
    def length(texts: Sequence[str]) -> float:
        return math.log(np.mean([len(Writing(text).words) for text in texts]) + 1.0)

    cards = [length(author.card) for author in authors]
    return np.array([[-abs(card - length(author.held_back)) for card in cards] for author in authors])


def _right(likenesses: Floats) -> Floats:
    """The share of other authors whose card is less like each author's texts than their own is, (A,); ties are half."""
    own = np.diag(likenesses)[:, None]
    others = (own > likenesses) + 0.5 * (own == likenesses)
    np.fill_diagonal(others, 0.0)
    return np.asarray(others.sum(axis=1) / (len(likenesses) - 1))


def references(histories: Sequence[tuple[str, Sequence[Author]]]) -> dict[str, Reference]:
    """The figures over the authors of histories, given with their kinds, by kind and of all as the kind ``any``."""
    texts = [(kind, [(*author.card, *author.held_back) for author in authors]) for kind, authors in histories]
    return {
        kind: Reference.of(kind, [each for its, each in texts if kind in (its, ANY)])
        for kind in sorted({ANY, *(kind for kind, _ in texts)})
    }


def manner_tables(result: Json) -> Iterator[Table]:
    """Yield the table of the shares."""
    rows = tuple(
        (
            each["history"],
            f"{each['authors']:,}",
            f"{each['pairs']:,}",
            *(shown(each[method], 3) for method in METHODS),
            "0.500",
        )
        for each in result["histories"]
    )
    columns = ("history", "authors", "pairs", "card", "its traits alone", "its words alone", "length alone", "chance")
    yield Table("Pairs of authors told apart by ten held-back texts.", columns, rows, result["command"])
