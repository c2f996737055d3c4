"""The gains file: JSON Lines, optionally gzipped, one request per line, with its documents and the gain of each.

``{"request", "documents": [{"text", "request"?, "timestamp"?, "id"?}, ...], "gain": [float, ...], "user_id"?, "id"?,
"timestamp"?, "target"?}``. Gains are in nats, in the documents' order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from eval.asking.json_lines import at_least_one, check_number, optional_id, optional_string
from eval.stats.slices import Slice, slices
from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.history.files import parse_lines
from pearl.text.usable import check_characters, json_type
from pearl.text.words import count_words
from retriever.candidates_file import parse_candidates
from retriever.history.lexical import words

LARGEST_GAIN = 1e9  # nats; sums and squares of larger ones overflow
NGRAM = 3  # words
THRESHOLD = 0.5  # of the target's trigrams: a document with as many nearly is the target, and copying it is no style


@dataclass(frozen=True, slots=True)
class GainsRecord:
    """A request with its documents and the gain of each."""

    request: Request
    user_id: str | None
    id: str | None
    target: str | None  # what the user really wrote; None where the file does not say it
    documents: tuple[Document, ...]  # at least one; oldest first where none has a time
    gains: tuple[float, ...]  # of each document, in nats


def read_gains(path: Path) -> tuple[GainsRecord, ...]:
    """Read every record of a file. Raises InputError that names file, line and field of the first bad record."""
    records = at_least_one(path, parse_lines(path, partial(parse_record, now=time.time())), "record")
    if not any(gain for record in records for gain in record.gains):
        raise InputError(f"{path}: every gain in it is 0, so every order is as good.")
    return records


def parse_record(value: dict[str, Any], now: float) -> GainsRecord:
    """Parse a record of a gains file. Raises InputError with ``param`` set to the field."""
    request, documents = parse_candidates(value, now)
    target = optional_string(value, "target")
    if not documents:
        raise InputError("'documents' is empty; a record needs at least one.", param="documents")
    return GainsRecord(
        request=request,
        user_id=optional_id(value, "user_id"),
        id=optional_id(value, "id"),
        target=None if target is None else check_characters(target, param="target"),
        documents=tuple(documents),
        gains=_numbers(value.get("gain"), "gain", len(documents)),
    )


def _numbers(value: Any, param: str, size: int) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise InputError(f"'{param}' must be an array, not {json_type(value)}.", param=param)
    if len(value) != size:
        raise InputError(f"'{param}' has {len(value)} numbers for {size} documents; give one for each.", param=param)
    return tuple(_number(item, f"{param}.{position}") for position, item in enumerate(value))


def _number(value: Any, param: str) -> float:
    number = check_number(value, param)
    if abs(number) > LARGEST_GAIN:
        raise InputError(f"must lie between -{LARGEST_GAIN:g} and {LARGEST_GAIN:g} nats.", param=param)
    return number


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of records that are resampled together in a bootstrap."""

    unit: str  # "users" or "requests"
    names: tuple[str, ...]  # the cluster of each record
    users: int  # number of users known

    def to_json(self) -> dict[str, Any]:
        """Return the number of records and of users, and the unit (users or requests) that is resampled."""
        return {"n": len(self.names), "users": self.users, "resampled": self.unit}


def request_slices(records: Sequence[GainsRecord]) -> list[Slice]:
    """Divide the requests into thirds by their length in words, and into thirds by their number of documents."""
    return [
        *slices("request_words", [count_words(record.request.text) for record in records]),
        *slices("documents", [len(record.documents) for record in records]),
    ]


def clusters(records: Sequence[GainsRecord]) -> Clusters:
    """Cluster requests by user; a request without a user is its own cluster. If fewer than two users are known, every
    request is its own cluster."""
    users = len({record.user_id for record in records} - {None})
    if users < 2:
        return Clusters("requests", tuple(map(str, range(len(records)))), users)
    owners = (
        f"request {index}" if record.user_id is None else f"user {record.user_id}"
        for index, record in enumerate(records)
    )
    return Clusters("users", tuple(owners), users)


def containment(target: str, text: str) -> float:
    """Return the share of the target's word trigrams that are in the text (Broder 1997, "On the resemblance and
    containment of documents"). A target of fewer than three words is one n-gram; 0 for a target without a word."""
    of_target = words(target)
    length = min(NGRAM, len(of_target))
    wanted, there = (
        {tuple(of_text[start : start + length]) for start in range(len(of_text) - length + 1)}
        for of_text in (of_target, words(text))
    )
    return len(wanted & there) / len(wanted) if length else 0.0


def kept_documents(record: GainsRecord, threshold: float = THRESHOLD) -> tuple[bool, ...]:
    """Return for each document whether it contains less than ``threshold`` of the target; all True without a target."""
    if record.target is None:
        return (True,) * len(record.documents)
    return tuple(containment(record.target, document.text) < threshold for document in record.documents)
