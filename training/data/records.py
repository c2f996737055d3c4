"""The two records that the retriever is trained on: an example, and a group of its documents.

Dimensions in comments: C candidates of an example, G documents of a group, S signals.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.files.whole import opened
from pearl.records import Document, Request

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Example:
    """A request, its candidates oldest first, and the gain (nats) of each, (C,), true or by proxy.

    ``target`` is what was written, ``target_tokens`` its length for the auxiliary model, 0 where it did not read it.
    ``domain`` names the history file that it is of, where there may be several.
    ``signals`` (C, S) are empty until they are computed. Where only scores are known, and not the history, texts are
    empty and documents are told apart by their ids.
    """

    user_id: str
    request_id: str
    request: Request
    target: str
    documents: tuple[Document, ...]
    gains: Floats
    target_tokens: int = 0
    signals: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    domain: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.user_id, self.request_id

    def group(self, places: Sequence[int]) -> Group:
        """The group of the candidates at these places, in this order."""
        documents = tuple(self.documents[place] for place in places)
        return Group(self.user_id, self.request_id, self.request, documents, self.gains[list(places)])


@dataclass(frozen=True, slots=True)
class Group:
    """One positive with its negatives: G documents, the positive first, and their gains (nats), (G,)."""

    user_id: str
    request_id: str
    request: Request
    documents: tuple[Document, ...]
    gains: Floats


def clusters_of(examples: Sequence[Example]) -> list[str]:
    """The cluster of each example for resampling: its user, or its request if all are of one user."""
    users = [example.user_id for example in examples]
    return users if len(set(users)) > 1 else [f"{example.user_id} {example.request_id}" for example in examples]


def check_gains(examples: Sequence[Example], called: str) -> None:
    """Raises InputError where there is no gain, or none but 0: nothing can be learned or measured with them."""
    if not examples:
        raise InputError(
            f"There is no gain of {called}: no request there has enough documents before it; give more history.",
            code="no_gains",
        )
    if not any(np.any(example.gains) for example in examples):
        raise InputError(
            f"Every gain of {called} is 0 ({len(examples):,} requests): to the auxiliary model the targets are as "
            "likely with a document as without; check the template and that the texts are not empty.",
            code="no_gains",
        )


def write_gains(examples: Sequence[Example], path: Path) -> None:
    """The gains file that ``pearl eval`` reads, whole or not at all; gzipped for a name that ends in ``.gz``.

    Raises InputError where there is no gain but 0.
    """
    check_gains(examples, f"'{path.name}'")
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened(path) as file:
        for example in examples:
            line = {
                "user_id": example.user_id,
                "id": example.request_id,
                "timestamp": example.request.timestamp,
                "request": example.request.text,
                "target": example.target,
                "documents": [asdict(document) for document in example.documents],
                "gain": [round(float(gain), 4) for gain in example.gains],
            }
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
