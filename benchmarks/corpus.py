"""The histories that are measured on: 26,665 real documents of 527 users, or as many invented ones."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT

DOCUMENTS, USERS = 26_665, 527
LARGEST = 600  # documents of one user
SECONDS_APART = 3_600
FIRST_TIMESTAMP = 1_118_346_661

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A history file. ``source`` says what it is, for the result file."""

    path: Path
    source: str

    def lines(self) -> list[Line]:
        with gzip.open(self.path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]


@dataclass(frozen=True, slots=True)
class OneUser:
    """A history of one user, oldest first, and requests that others made: none of them is in it."""

    name: str
    history: list[Line]
    requests: list[str]


def find_corpus(scratch: Path) -> Corpus:
    """The real history of the git project, else an invented one of the same size, made in ``scratch``."""
    shared = Path(os.environ.get("PEARL_SHARED", ROOT.parent / "shared"))
    real = shared / "data" / "commits" / "git.jsonl.gz"
    if real.exists():
        return Corpus(real, f"commit messages of the git project ({real.name})")
    path = scratch / "invented.jsonl.gz"
    write_lines(path, invented_lines())
    return Corpus(path, "invented documents of the same number and size")


def first_lines(corpus: Corpus, count: int, path: Path) -> Corpus:
    """The beginning of a corpus as a corpus of its own."""
    write_lines(path, islice(corpus.lines(), count))
    return Corpus(path, f"{corpus.source}, the first {count:,}")


def write_lines(path: Path, lines: Iterator[Line] | Sequence[Line]) -> None:
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def one_user(lines: Sequence[Line], size: int, requests: int) -> OneUser:
    """The user with the most documents, cut to the oldest ``size``, and that many requests of the others, shuffled."""
    name, _ = max(Counter(line["user_id"] for line in lines).items(), key=lambda item: (item[1], item[0]))
    own = sorted((line for line in lines if line["user_id"] == name), key=lambda line: float(line["timestamp"]))
    known = {line.get("request") for line in own}
    asked = {line["request"] for line in lines if line.get("request")} - known
    shuffled = random.Random(0).sample(sorted(asked), min(requests, len(asked)))
    return OneUser(name, own[:size], shuffled)


def invented_lines(documents: int = DOCUMENTS, seed: int = 0) -> Iterator[Line]:
    """Documents of about 85 words over a vocabulary with Zipf's frequencies; every user's size differs."""
    chance = random.Random(seed)
    words = [_word(chance) for _ in range(20_000)]
    weights = list(accumulate(1.0 / rank for rank in range(1, len(words) + 1)))
    shares = list(accumulate(1.0 / (rank + 10) for rank in range(USERS)))
    written: Counter[int] = Counter()
    for number in range(documents):
        user = chance.choices(range(USERS), cum_weights=shares)[0]
        if written[user] >= LARGEST:
            user = chance.randrange(USERS)
        written[user] += 1
        yield {
            "user_id": f"invented{user:04d}",
            "id": f"{number:06x}",
            "timestamp": FIRST_TIMESTAMP + number * SECONDS_APART,
            "request": " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(4, 9))),
            "text": " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(20, 150))),
        }


def _word(chance: random.Random) -> str:
    return "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(chance.randint(1, 4)))
