"""Scoring the documents of gains records with retrievers.

Dimensions in comments: C candidates, E embedding size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eval.retrieval.gains import GainsRecord
from pearl.errors import InputError
from pearl.stats.bootstrap import Floats
from retriever.base import Retriever, oldest_first
from retriever.models.encoder import Encoder, Vectors


@dataclass(frozen=True, slots=True)
class ModelScores:
    """A model's scores of each record's documents, (C,) per record, in the documents' order."""

    model: str
    scores: tuple[Floats, ...]


def score_records(
    model: str, retriever: Retriever, records: Sequence[GainsRecord], advance: Callable[[], None] = lambda: None
) -> ModelScores:
    """Score every record's documents. Raises InputError that names model and record if a score is not finite."""
    scored = []
    for number, record in enumerate(records, start=1):
        scores = _scores(retriever, record)
        if scores.shape != (len(record.documents),) or not np.isfinite(scores).all():
            name = f"record {number}" + (f" (id '{record.id}')" if record.id else "")
            raise InputError(
                f"The model '{model}' gave no finite score to each of the {len(record.documents)} documents of {name}."
            )
        scored.append(scores)
        advance()
    return ModelScores(model, tuple(scored))


def _scores(retriever: Retriever, record: GainsRecord) -> Floats:
    """Score the documents, in the order of the record; the retriever gets them oldest first."""
    order = oldest_first(record.documents)
    ranked = retriever.index([record.documents[position] for position in order]).scores(record.request)
    if len(ranked) != len(order):
        return np.empty(0)
    scores = np.empty(len(ranked), np.float64)
    scores[order] = ranked
    return scores


class RememberingEncoder:
    """An encoder that encodes each text only once."""

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._documents: dict[str, Vectors] = {}
        self._requests: dict[str, Vectors] = {}

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if missing:
            self._documents |= zip(missing, self._encoder.encode_documents(missing), strict=True)
        return np.stack([self._documents[text] for text in texts])  # (texts, E)

    def encode_request(self, text: str) -> Vectors:
        if text not in self._requests:
            self._requests[text] = self._encoder.encode_request(text)
        return self._requests[text]  # (1, E)
