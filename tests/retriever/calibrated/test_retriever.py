"""Two stages of one retriever: what the first puts together and the second adds to the best of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pearl.clock import Clock
from pearl.records import Document, Request
from retriever.base import MARGIN_FROM, Calibration
from retriever.calibrated.artifact import artifact_retriever
from retriever.calibrated.head import MOST, Cascade
from retriever.calibrated.retriever import OTHER_LANGUAGE, CalibratedRetriever

REQUEST = Request("the wheel", 1000.0)
COUNT = MOST + 8


def history(count: int) -> list[Document]:
    """The later, the more of the request's words among as many others."""
    return [Document(f"d{n}", "wheel " * n + "other " * (count - n), 10.0 * n, None) for n in range(count)]


class GivenLogits:
    """A cross-encoder that says what it is told, by document id."""

    def __init__(self, logits: dict[str, float]) -> None:
        self.busy = threading.Lock()
        self.given = logits
        self.seen: list[str] = []

    @contextmanager
    def turn(self, documents: int, clock: Clock) -> Any:
        if not self.busy.acquire(timeout=clock.left_s):
            yield False
            return
        yield True
        self.busy.release()

    def read(self, request: Request, parts: Iterable[Sequence[Document]], kept: Any) -> Any:
        for documents in parts:
            self.seen += [document.id for document in documents]
            yield np.array([self.given.get(document.id, 0.0) for document in documents], np.float32)


@pytest.fixture
def with_logits(make_artifact, word_encoder) -> Callable[..., CalibratedRetriever]:
    """Scores of log_recency downwards, with logits beside them."""
    plain: Any = artifact_retriever(make_artifact({"log_recency": -1.0}), word_encoder())

    def make(cross_encoder: Any, cascade: Cascade = Cascade(), **parts: Any) -> CalibratedRetriever:  # noqa: B008
        both = replace(plain._parts, cross_encoder=cross_encoder, **parts)
        return CalibratedRetriever("two", word_encoder(), both, Calibration(), cascade)

    return make


def test_the_first_stage_alone(make_artifact, word_encoder):
    retriever = artifact_retriever(make_artifact({"cosine_text": 2.0}, bias=0.5), word_encoder())
    documents = history(COUNT)
    scores = retriever.index(documents).scores(REQUEST)
    encoder = word_encoder()
    cosines = encoder.encode_documents([each.text for each in documents]) @ encoder.encode_request(REQUEST.text)[0]
    assert scores == pytest.approx(2 * cosines + 0.5, abs=1e-5)
    assert retriever.rank(REQUEST, documents)[0].document.id == documents[int(cosines.argmax())].id


def test_each_document_says_how_much_it_has_to_do_with_the_request(make_artifact, word_encoder):
    retriever = artifact_retriever(make_artifact({"log_recency": -1.0}), word_encoder())
    documents = [
        Document("both", "the wheel", 30.0, "kettle"),
        Document("request", "kettle", 10.0, "the wheel"),
        Document("neither", "kettle", 20.0, "tide"),
    ]
    found = {each.document.id: each.relatedness for each in retriever.rank(REQUEST, documents)}
    assert found["both"] == found["request"] == pytest.approx(1.0)
    assert found["neither"] == pytest.approx(0.0, abs=0.05)
    long = [Document(f"d{n}", "the wheel", float(n)) for n in range(MARGIN_FROM)]
    assert [each.relatedness for each in retriever.rank(REQUEST, long)] == pytest.approx([1.0] * MARGIN_FROM)
    assert retriever.rank(REQUEST, []) == []


def test_without_an_embedding_a_document_says_nothing_of_that(make_artifact, word_encoder):
    class Late(word_encoder):  # type: ignore[misc]
        def encode_documents(self, texts: Sequence[str]) -> Any:
            vectors = super().encode_documents(texts)
            vectors[[text == "tide" for text in texts]] = np.nan
            return vectors

    retriever = artifact_retriever(make_artifact(), Late())
    documents = [Document("there", "the wheel", 10.0), Document("missing", "tide", 20.0)]
    found = {each.document.id: each.relatedness for each in retriever.rank(REQUEST, documents)}
    assert found == {"there": pytest.approx(1.0), "missing": None}


def test_the_cascade_is_the_artifacts(with_logits):
    model = GivenLogits({"d3": 50.0})
    cascade = Cascade(most=3, weight=0.5)
    index = with_logits(model, cascade).index(history(5))
    assert index.scores(REQUEST) == pytest.approx(
        [-np.log1p(4), -np.log1p(3), -np.log1p(2) / 2, 25 - np.log1p(1) / 2, 0], abs=1e-5
    )
    assert model.seen == ["d4", "d3", "d2"]


def test_the_clock_knows_the_stages_and_ends_the_second(with_logits):
    model, clock, late = GivenLogits({}), Clock(), Clock(0.0)
    index = with_logits(model).index(history(5))
    index.scores(REQUEST, clock)
    assert set(clock.timings) == {"first_stage_ms", "cross_encoder_ms"}
    assert not clock.cut_short
    model.seen.clear()
    scores = index.scores(REQUEST, late)
    assert (model.seen, late.cut_short) == ([], True)
    assert scores == pytest.approx(-np.log1p([4, 3, 2, 1, 0]), abs=1e-6)


def test_who_waits_too_long_for_a_turn_does_without(with_logits):
    model, clock = GivenLogits({"d0": 9.0}), Clock(500.0)
    index = with_logits(model).index(history(5))
    with model.busy:
        scores = index.scores(REQUEST, clock)
    assert (model.seen, clock.cut_short) == ([], True)
    assert clock.is_late  # it did wait
    assert scores == pytest.approx(-np.log1p([4, 3, 2, 1, 0]), abs=1e-6)
    assert index.scores(REQUEST)[0] == 9.0  # the turn was given back


def test_a_real_cross_encoder_beside_a_head(make_artifact, cross_encoder_folder, word_encoder):
    from retriever.models.cross_encoder import CrossEncoderModel, PairReading

    documents = history(5)
    plain = artifact_retriever(make_artifact(), word_encoder())
    both = artifact_retriever(make_artifact(cross_encoder=cross_encoder_folder, weight=0.25), word_encoder())
    both.load()
    logits = CrossEncoderModel(cross_encoder_folder, PairReading(128)).logits(REQUEST, documents)
    expected = 0.75 * plain.index(documents).scores(REQUEST) + 0.25 * logits
    assert both.index(documents).scores(REQUEST) == pytest.approx(expected, abs=0.03)


def test_a_real_cross_encoder_alone(make_artifact, cross_encoder_folder, word_encoder):
    """It reads every document, also with its own request if it was trained so; where there is no time for that, the
    head says the order."""
    from retriever.models.cross_encoder import CrossEncoderModel, PairReading

    documents = [replace(each, request="asked") for each in history(40)]
    for own_requests in (True, False):
        folder = make_artifact(
            cross_encoder=cross_encoder_folder, weight=1.0, reranked=1_000_000, own_requests=own_requests
        )
        index = artifact_retriever(folder, word_encoder()).index(documents)
        read = documents if own_requests else [replace(each, request=None) for each in documents]
        logits = CrossEncoderModel(cross_encoder_folder, PairReading(128)).logits(REQUEST, read)
        assert index.scores(REQUEST) == pytest.approx(logits, abs=0.03)
        late = Clock(0.0)
        head = artifact_retriever(make_artifact(), word_encoder()).index(documents)
        assert index.scores(REQUEST, late) == pytest.approx(head.scores(REQUEST), abs=1e-6)
        assert late.cut_short


@pytest.mark.parametrize("with_cross_encoder", [False, True])
def test_what_every_retriever_must_do(make_artifact, cross_encoder_folder, word_encoder, with_cross_encoder):
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


def test_an_updated_index_scores_as_a_fresh_one(make_artifact, word_encoder):
    retriever = artifact_retriever(make_artifact({"cosine_text": 1.0, "bm25_text": 1.0}), word_encoder())
    index = retriever.index([])
    for documents in (history(3), history(9)[2:], history(9)[::-1], [], history(2)):
        index = retriever.update(index, documents)
        assert np.array_equal(index.scores(REQUEST), retriever.index(documents).scores(REQUEST))


GERMAN = ("Die Leiter steht hinter dem Haus, nimm sie mit.", "Wir essen am Sonntag um eins, wie immer.")
ENGLISH = ("The ladder stands behind the house, take it with you.", "Lunch is at one on Sunday, as ever.", "ok")
ASKED = "Schreib Tomas, dass die Leiter hinter dem Haus steht."


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        (ASKED, ENGLISH[:2]),
        ("Tell Tomas that the ladder stands behind the house.", GERMAN),
        ("Reply in German:\nWhere is the ladder?", ENGLISH[:2]),
    ],
)
def test_documents_in_another_language_score_less(with_logits, asked, others, monkeypatch):
    documents = [Document(str(number), text, 10.0 * number) for number, text in enumerate((*GERMAN, *ENGLISH))]
    index = with_logits(None).index(documents)
    scores = index.scores(Request(asked, 1000.0))
    monkeypatch.setattr("retriever.calibrated.retriever.OTHER_LANGUAGE", 0.0)
    less = index.scores(Request(asked, 1000.0)) - scores
    assert {document.text: round(float(loss), 3) for document, loss in zip(documents, less, strict=True)} == {
        document.text: OTHER_LANGUAGE if document.text in others else 0.0 for document in documents
    }


@pytest.mark.parametrize(
    ("asked", "texts"),
    [
        (ASKED, ENGLISH),  # nothing in the language that is wanted
        (ASKED, GERMAN),
        ("https://example.org 123 🎉", (*GERMAN, *ENGLISH)),
        ("Leiter?", (*GERMAN, *ENGLISH)),  # too short to tell
    ],
)
def test_scores_stay_where_no_language_is_to_be_preferred(with_logits, asked, texts, monkeypatch):
    documents = [Document(str(number), text, 10.0 * number) for number, text in enumerate(texts)]
    scores = with_logits(None).index(documents).scores(Request(asked, 1000.0))
    monkeypatch.setattr("retriever.calibrated.retriever.OTHER_LANGUAGE", 99.0)
    assert with_logits(None).index(documents).scores(Request(asked, 1000.0)).tobytes() == scores.tobytes()


def test_languages_are_kept_when_a_history_changes(with_logits, monkeypatch):
    documents = [Document(str(number), text, 10.0 * number) for number, text in enumerate((*GERMAN, *ENGLISH))]
    retriever = with_logits(None)
    before = retriever.index(documents[1:])
    before.scores(Request(ASKED, 1000.0))
    read: list[str] = []
    monkeypatch.setattr("retriever.calibrated.retriever.detect", lambda text: read.append(text))
    after = retriever.update(before, [*documents[:2], *documents[3:]])
    after.scores(Request(ASKED, 1000.0))
    assert read == [documents[0].text]
    assert documents[2].text not in after._languages  # it was deleted
