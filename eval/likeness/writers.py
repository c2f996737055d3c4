"""The people of a history file, divided into impostors, people to tune on and people to test, and their later texts.

A person's last texts are held back: what is asked about came after the history. People are divided by a hash of their
id, so the same ones are always tested, whatever file they stand in.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pearl.history import read_histories
from pearl.likeness.masking import distinct
from pearl.words import SIGN, characters, count_words

IMPOSTORS, DEV, TEST = "impostors", "dev", "test"
HISTORY_SHARE = 0.7
LEAST_TEXTS = 15
WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Claimant:
    """A person whose later texts are asked about, both oldest first."""

    user: str
    history: tuple[str, ...]
    later: tuple[str, ...]


def part_of(user: str) -> str:
    """Two fifths of all people are impostors, a fifth is for tuning, two fifths are tested."""
    place = int(sha256(user.encode()).hexdigest()[:8], 16) % 100
    return IMPOSTORS if place < 40 else DEV if place < 60 else TEST


def texts_by_user(path: Path) -> dict[str, list[str]]:
    """Everybody's different texts, oldest first. Raises InputError that names file, line and field of a bad one."""
    histories = read_histories(path, timestamp_required=True)
    return {
        user: distinct(document.text for document in sorted(documents, key=lambda document: document.timestamp or 0.0))
        for user, documents in sorted(histories.items())
    }


def writers_of(texts: Mapping[str, Sequence[str]], part: str) -> list[Claimant]:
    """The people of a part with enough texts, each with their history and what came after it."""
    return [
        Claimant(user, tuple(theirs[: _cut(theirs)]), tuple(theirs[_cut(theirs) :]))
        for user, theirs in texts.items()
        if part_of(user) == part and len(theirs) >= LEAST_TEXTS
    ]


def _cut(texts: Sequence[str]) -> int:
    return int(len(texts) * HISTORY_SHARE)


def passages(texts: Sequence[str], words: int) -> Iterator[str]:
    """Yield texts of exactly ``words`` words: one after the other is added until they suffice, and the end is cut, in a
    script without blanks behind any character."""
    parts: list[str] = []
    for text in texts:
        parts.append(text)
        if sum(map(count_words, parts)) >= words:
            joined = "\n\n".join(parts)
            runs = (run.span() for run in WORD.finditer(joined))
            ends = [
                end for run in runs for _, end in (characters(joined, *run) if SIGN.search(joined, *run) else (run,))
            ]
            yield joined[: ends[bisect_left(ends, words, key=lambda end: count_words(joined[:end]))]]
            parts = []
