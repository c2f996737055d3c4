"""The example that the retriever is trained on: a request with candidate documents and their gains.

Dimensions in comments: C candidates of an example, S signals.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.files.whole import opened
from pearl.text.history.files import document_fields

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Example:
    """A request, its candidate documents (oldest first), and the gain of each, true or by proxy (estimated from
    overlap). A group to learn from is an example, too: its first document is the positive, the others are negatives.

    Where only scores are known, and not the history, texts are empty and documents have only ids.
    """

    user_id: str
    request_id: str
    request: Request
    documents: tuple[Document, ...]
    gains: Floats  # nats, (C,)
    target: str = ""  # what was written
    target_tokens: int = 0  # its length for the auxiliary model, 0 where that did not read it
    signals: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))  # (C, S), once computed
    domain: str = ""  # the name of the history file that it is of, where there may be several

    @property
    def key(self) -> tuple[str, str]:
        return self.user_id, self.request_id

    def group(self, places: Sequence[int]) -> Example:
        """Return an example with only the candidates at these places, in this order, without signals."""
        documents = tuple(self.documents[place] for place in places)
        return Example(self.user_id, self.request_id, self.request, documents, self.gains[list(places)])


def clusters_of(examples: Sequence[Example]) -> list[str]:
    """Return each example's cluster for bootstrap resampling: its user, or its request if all examples are of one
    user."""
    users = [example.user_id for example in examples]
    return users if len(set(users)) > 1 else [f"{example.user_id} {example.request_id}" for example in examples]


def check_gains(examples: Sequence[Example], called: str) -> None:
    """Check that there are gains other than 0. Raises InputError if not, which names the gains as ``called``."""
    if not examples:
        raise InputError(
            f"There is no gain of {called}: no request there has enough documents before it; give more history."
        )
    if not any(np.any(example.gains) for example in examples):
        raise InputError(
            f"Every gain of {called} is 0 ({len(examples):,} requests): to the auxiliary model the targets are as "
            "likely with a document as without; check the template and that the texts are not empty."
        )


def write_gains(examples: Sequence[Example], path: Path) -> None:
    """Write the gains file that ``pearl eval`` reads, atomically; gzipped for a name that ends in ``.gz``. Raises
    InputError if there is no gain other than 0."""
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
                "documents": [document_fields(document) for document in example.documents],
                "gain": [round(float(gain), 4) for gain in example.gains],
            }
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
