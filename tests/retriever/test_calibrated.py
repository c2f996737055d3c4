"""Two stages of one retriever: what the first puts together and the second adds to the best of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.artifact import artifact_retriever
from retriever.base import Calibration
from retriever.calibrated import RERANKED, CalibratedRetriever

REQUEST = Request("the wheel", 1000.0)
COUNT = RERANKED + 8


def history(count: int) -> list[Document]:
    """The later, the more of the request's words among as many others."""
    return [Document(f"d{n}", "wheel " * n + "other " * (count - n), 10.0 * n, None) for n in range(count)]


class GivenLogits:
    """A cross-encoder that says what it is told, by document id."""

    def __init__(self, logits: dict[str, float]) -> None:
        self.given = logits
        self.seen: list[str] = []

    def logits(self, request: Request, documents: Sequence[Document]) -> Any:
        self.seen = [document.id for document in documents]
        return np.array([self.given.get(id, 0.0) for id in self.seen], np.float32)


@pytest.fixture
def with_logits(make_artifact: Callable[..., Path], word_encoder: Any) -> Callable[..., CalibratedRetriever]:
    """Scores of log_recency downwards, with logits beside them."""
    plain: Any = artifact_retriever(make_artifact({"log_recency": -1.0}), word_encoder())

    def make(cross_encoder: Any) -> CalibratedRetriever:
        return CalibratedRetriever(
            "two", word_encoder(), plain._weights, plain._head, cross_encoder, Calibration(), RERANKED
        )

    return make


def test_the_first_stage_alone(make_artifact: Callable[..., Path], word_encoder: Any) -> None:
    retriever = artifact_retriever(make_artifact({"cosine_text": 2.0}, bias=0.5), word_encoder())
    documents = history(COUNT)
    scores = retriever.index(documents).scores(REQUEST)
    encoder = word_encoder()
    cosines = encoder.encode_documents([each.text for each in documents]) @ encoder.encode_request(REQUEST.text)[0]
    assert scores == pytest.approx(2 * cosines + 0.5, abs=1e-5)
    assert retriever.rank(REQUEST, documents)[0].document.id == documents[int(cosines.argmax())].id


def test_the_cross_encoder_sees_the_best_of_the_first_stage(with_logits: Any) -> None:
    model = GivenLogits({f"d{COUNT - 3}": 50.0})
    ranking = with_logits(model).rank(REQUEST, history(COUNT))
    assert model.seen == [f"d{n}" for n in reversed(range(8, COUNT))]
    assert [found.document.id for found in ranking[:3]] == [f"d{COUNT - 3}", f"d{COUNT - 1}", f"d{COUNT - 2}"]
    assert ranking[0].score == pytest.approx(50 - np.log(3))
    assert sorted(found.document.id for found in ranking) == sorted(each.id for each in history(COUNT))


@pytest.mark.parametrize("logit", [-1000.0, -1.0, 0.0, 1000.0, -1e30])
def test_what_it_did_not_see_stands_below_in_the_first_stages_order(with_logits: Any, logit: float) -> None:
    """Whatever it says of the worst that it saw."""
    ranking = with_logits(GivenLogits({"d8": logit})).rank(REQUEST, history(COUNT))
    assert {found.document.id for found in ranking[RERANKED:]} == {f"d{n}" for n in range(8)}
    lowest, highest = ranking[RERANKED - 1].score, ranking[RERANKED].score
    assert highest < lowest
    if logit > -1e30:  # where a float still tells them apart
        assert [found.document.id for found in ranking[RERANKED:]] == [f"d{n}" for n in reversed(range(8))]


def test_no_more_than_it_can_see(with_logits: Any) -> None:
    model = GivenLogits({})
    scores = with_logits(model).index(history(RERANKED)).scores(REQUEST)
    assert len(model.seen) == RERANKED
    assert scores == pytest.approx(-np.log1p(np.arange(RERANKED)[::-1]), abs=1e-6)


def test_a_real_cross_encoder_adds_its_logit(
    make_artifact: Callable[..., Path], cross_encoder_folder: Path, word_encoder: Any
) -> None:
    from retriever.cross_encoder import CrossEncoderModel

    documents = history(5)
    plain, both = (
        artifact_retriever(make_artifact(cross_encoder=folder), word_encoder())
        for folder in (None, cross_encoder_folder)
    )
    both.load()
    logits = CrossEncoderModel(cross_encoder_folder, 128).logits(REQUEST, documents)
    expected = plain.index(documents).scores(REQUEST) + logits
    assert both.index(documents).scores(REQUEST) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("with_cross_encoder", [False, True])
def test_what_every_retriever_must_do(
    make_artifact: Callable[..., Path], cross_encoder_folder: Path, word_encoder: Any, with_cross_encoder: bool
) -> None:
    folder = make_artifact(cross_encoder=cross_encoder_folder if with_cross_encoder else None)
    retriever = artifact_retriever(folder, word_encoder())
    assert retriever.rank(REQUEST, []) == []
    assert retriever.index([]).scores(REQUEST).shape == (0,)
    for documents in (history(1), history(COUNT), [Document("a", ""), Document("b", "x" * 10_000, None, "")]):
        index = retriever.index(documents)
        for asked in (REQUEST, Request("?"), Request("word " * 3000)):
            scores = index.scores(asked)
            assert (scores.shape, scores.dtype) == ((len(documents),), np.float32)
            assert np.isfinite(scores).all()
            assert np.array_equal(index.scores(asked), scores)
