"""Telling authors apart by the voice card alone: two authors' cards, and ten later texts of one of them.

An author's last ten texts are held back from their card. Authors are halved by a digest of their name: one half gives
the figures over many authors and is for tuning, the other is measured.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from eval.report.tables import Columns, Json, Table
from pearl.errors import InputError
from pearl.history.files import read_histories
from pearl.manner.reference import ANY, Reference
from pearl.manner.telling import likeness_of_manner
from pearl.manner.traits import TRAITS
from pearl.manner.writing import Writing
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats

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
    """At most ``most`` authors of one half who wrote enough. Raises InputError for fewer than two."""
    authors = []
    for name, documents in sorted(read_histories(path, timestamp_required=True).items()):
        if split_of(name) == split and len(documents) >= LEAST_CARD + HELD_BACK:
            by_time = sorted(documents, key=lambda document: document.timestamp or 0.0)[-MOST_CARD - HELD_BACK :]
            texts = tuple(document.text for document in by_time)
            authors.append(Author(name, texts[:-HELD_BACK], texts[-HELD_BACK:]))
    if len(authors) < 2:
        raise InputError(
            f"{path}: fewer than two authors of the {split} half have {LEAST_CARD + HELD_BACK} texts.", param="history"
        )
    return random.Random(seed).sample(authors, min(most, len(authors)))


def split_of(name: str) -> str:
    return SPLITS[sha256(name.encode()).digest()[0] % 2]


def manner_figures(name: str, authors: Sequence[Author], reference: Reference) -> dict[str, Any]:
    """The share of pairs in which held-back texts lie nearer to their own author's card, by method."""
    cards = np.array([reference.standardised(author.card) for author in authors])  # (A, F)
    texts = np.array([reference.standardised(author.held_back) for author in authors])
    traits = np.arange(cards.shape[1]) < len(TRAITS)
    likenesses: dict[str, Floats] = {
        "card": _likenesses(cards, texts),
        "traits": _likenesses(cards * traits, texts * traits),
        "words": _likenesses(cards * ~traits, texts * ~traits),
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
        **{method: _share_right(bootstrap, likenesses[method]).to_json() for method in METHODS},
    }


def _likenesses(cards: Floats, texts: Floats) -> Floats:
    """The likeness of each author's texts to each card, by their rates: (A, F) -> (A, A)."""
    return np.array([[likeness_of_manner(card, own) for card in cards] for own in texts])


def _lengths(authors: Sequence[Author]) -> Floats:
    def length(texts: Sequence[str]) -> float:
        return math.log(np.mean([len(Writing(text).words) for text in texts]) + 1.0)

    cards = [length(author.card) for author in authors]
    return np.array([[-abs(card - length(author.held_back)) for card in cards] for author in authors])


def _share_right(bootstrap: Bootstrap, likenesses: Floats) -> Estimate:
    """The share of pairs in which an author's texts are more like their own card than the other's; ties are half.

    An author is drawn with their texts and their card: of the card alone that others are told from, the interval knows,
    too. One drawn twice is not told from themselves.
    """
    own = np.diag(likenesses)[:, None]
    right = (own > likenesses) + 0.5 * (own == likenesses)  # (A, A)
    np.fill_diagonal(right, 0.0)

    def share(times: Floats) -> Floats:  # (R, A)
        pairs = times.sum(axis=1) ** 2 - (times**2).sum(axis=1)
        return np.asarray(((times @ right) * times).sum(axis=1) / np.where(pairs > 0, pairs, np.nan))

    return replace(bootstrap.weights(share), clusters=len(likenesses))


def references(histories: Sequence[tuple[str, Sequence[Author]]]) -> dict[str, Reference]:
    """The figures over the authors of histories, given with their kinds, by kind and of all as the kind ``any``."""
    texts = [(kind, [(*author.card, *author.held_back) for author in authors]) for kind, authors in histories]
    return {
        kind: Reference.of(kind, [lot for lot_kind, lot in texts if kind in (lot_kind, ANY)])
        for kind in sorted({ANY, *(kind for kind, _ in texts)})
    }


def manner_tables(result: Json) -> Iterator[Table]:
    columns: Columns = {"history": "history", "authors": "authors", "pairs": "pairs", "card": "card"}
    columns |= {"its traits alone": "traits", "its words alone": "words", "length alone": "length", "chance": "chance"}
    caption = "Pairs of authors told apart by ten held-back texts."
    yield Table.of(caption, result["histories"], columns, result["command"])
