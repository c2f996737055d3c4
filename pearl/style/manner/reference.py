"""Statistics of the manner of many authors, which one person's is compared with. ``pearl eval manner`` of commit
847c86b2 wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import orjson

ANY, COMMIT, MESSAGE = "any", "commit", "message"
OF_TEMPLATE = {COMMIT: COMMIT, MESSAGE: MESSAGE}  # a template that is not named here: any kind of text


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of a rate over authors: mean, standard deviation and quartiles."""

    mean: float
    sd: float  # standard deviation
    low: float  # lower quartile
    high: float  # upper quartile


@dataclass(frozen=True, slots=True)
class Reference:
    """Rates of traits and common words over the authors of one kind of text."""

    kind: str
    authors: int
    texts: int
    word_total: int  # words of all texts
    traits: Mapping[str, Spread]
    words: Mapping[str, Spread]  # uses per 100 words


@cache
def shipped(kind: str) -> Reference:
    """Load the statistics of one kind of text that come with the package."""
    content = orjson.loads((files("pearl.style.manner") / "reference.json").read_bytes())[kind]
    spreads = {part: {name: Spread(*row) for name, row in content[part].items()} for part in ("traits", "words")}
    return Reference(kind, content["authors"], content["texts"], content["word_total"], **spreads)


@cache
def common_words() -> frozenset[str]:
    """Return the words commonly used by the authors of any kind of text, all of whom write English."""
    return frozenset().union(*(shipped(kind).words for kind in (ANY, COMMIT, MESSAGE)))
