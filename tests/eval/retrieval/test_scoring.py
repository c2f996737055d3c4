from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from eval.retrieval.gains import GainsRecord
from eval.retrieval.scoring import RememberingEncoder, score_records
from pearl.errors import InputError
from pearl.records import Document, Request
from retriever.base import Index, Retriever, Scores


class PlacesRetriever(Retriever):
    """Scores documents by their place, so that a test sees the order they came in; then what it is told to."""

    name = "places"

    def __init__(self, wrong: object = None) -> None:
        self._wrong = wrong

    def index(self, documents: Sequence[Document]) -> Index:
        return PlacesIndex(len(documents), self._wrong)


class PlacesIndex:
    def __init__(self, size: int, wrong: object) -> None:
        self._size, self._wrong = size, wrong

    def scores(self, request: Request, clock: object = None) -> Scores:
        found = np.arange(self._size, dtype=np.float32)
        if self._wrong == "too few":
            return found[1:]
        if self._wrong is not None:
            found[-1] = self._wrong
        return found


def record(*timestamps: float | None, id: str | None = None) -> GainsRecord:
    documents = tuple(Document(str(index), "a", time) for index, time in enumerate(timestamps))
    return GainsRecord(Request("a"), None, id, None, documents, (1.0,) * len(documents))


def test_a_retriever_gets_the_oldest_first_and_scores_come_back_in_place():
    scored = score_records("places", PlacesRetriever(), [record(30.0, 10.0, 20.0), record(None, 5.0)])
    assert [scores.tolist() for scores in scored.scores] == [[2, 0, 1], [0, 1]]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, "too few"])
def test_a_score_that_is_none_names_the_model_and_the_record(wrong):
    with pytest.raises(InputError, match=re.escape("The model 'mine' gave no finite score to each of the 2 documents")):
        score_records("mine", PlacesRetriever(wrong), [record(1.0, 2.0)])
    with pytest.raises(InputError, match=re.escape("of record 1 (id 'x7').")):
        score_records("mine", PlacesRetriever(wrong), [record(1.0, 2.0, id="x7")])


class CountingEncoder:
    name = "counting"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    def encode_request(self, text: str) -> np.ndarray:
        self.seen.append(f"request {text}")
        return np.array([[len(text), 2.0]], np.float32)


def test_each_text_is_encoded_once():
    encoder = CountingEncoder()
    remembering = RememberingEncoder(encoder)
    assert remembering.encode_documents(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert remembering.encode_documents(["ccc", "bb"]).tolist() == [[3, 1], [2, 1]]
    assert remembering.encode_request("bb").tolist() == remembering.encode_request("bb").tolist() == [[2, 2]]
    assert encoder.seen == ["a", "bb", "ccc", "request bb"]
    assert remembering.name == "counting"
