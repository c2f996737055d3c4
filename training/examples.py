"""Examples that the retriever learns from: requests with candidates and the gain of each, true or by proxy.

Dimensions in comments: C candidates, S signals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.records import Document, Request
from retriever.base import oldest_first
from training.groups import SUM, scored_requests
from training.histories import times_of_all_or_none
from training.staging import opened

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Example:
    """A request, its candidates oldest first, and the gain (nats) of each, (C,); ``target`` is what was written, which
    has so many tokens of the auxiliary model, 0 where it did not read it."""

    user_id: str
    request_id: str
    request: Request
    target: str
    documents: tuple[Document, ...]
    gains: Floats
    target_tokens: int = 0


def scored_examples(
    histories: Mapping[str, Sequence[Document]], scores: pa.Table, normalize: str = SUM
) -> list[Example]:
    """The scores of equation 1 with their texts. Raises InputError when a score is of a document that is not there."""
    requests = scored_requests(scores, normalize)
    by_id = {
        user: {document.id: document for document in times_of_all_or_none(histories.get(user, ()))}
        for user in {request.user_id for request in requests}
    }
    examples = []
    for scored in requests:
        user, request_id, gains = scored.user_id, scored.request_id, scored.gains
        known = by_id[user]
        missing = [id for id in (request_id, *gains) if id not in known]
        if missing:
            raise InputError(
                f"The scores name the document '{missing[0]}' of user '{user}', which the history does not have; "
                "give the history that was scored.",
                code="other_history",
            )
        target = known[request_id]
        documents = [known[id] for id in gains]
        documents = [documents[position] for position in oldest_first(documents)]
        values = np.array([gains[document.id] for document in documents], np.float32)
        request = Request(target.request or "", target.timestamp)
        tokens = scored.target_tokens
        examples.append(Example(user, request_id, request, target.text, tuple(documents), values, tokens))
    return examples


def clusters_of(examples: Sequence[Example]) -> list[str]:
    """The cluster of each example for resampling: its user, or its request if all are of one user."""
    users = [example.user_id for example in examples]
    return users if len(set(users)) > 1 else [f"{each.user_id} {each.request_id}" for each in examples]


def check_gains(examples: Sequence[Example], what: str) -> None:
    """Raises InputError where there is no gain, or none but 0: nothing can be learned or measured with them."""
    if not examples:
        raise InputError(
            f"There is no gain of {what}: no request there has enough documents before it; give more history.",
            code="no_gains",
        )
    if not any(np.any(example.gains) for example in examples):
        raise InputError(
            f"Every gain of {what} is 0 ({len(examples):,} requests): to the auxiliary model the targets are as likely "
            "with a document as without; check the template and that the texts are not empty.",
            code="no_gains",
        )


def write_gains(examples: Sequence[Example], path: Path) -> None:
    """The gains file that ``pearl eval`` reads, whole or not at all; gzipped for a name that ends in ``.gz``.

    Raises InputError where there is no gain but 0.
    """
    check_gains(examples, f"'{path.name}'")
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
