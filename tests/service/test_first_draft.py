"""The first draft after an import: its embeddings are not there, and the time for retrieval is limited."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pearl.clock import Clock
from pearl.errors import NotFound
from pearl.records import Document, Request
from retriever.calibrated.artifact import artifact_retriever
from retriever.registry import make_retriever
from service.histories.embedding import BATCH, BackgroundEmbedder, Precedence, StoredEncoder
from service.store import jobs

COUNT = 60
WANTED = "The tide table hangs by the boathouse door"


@pytest.fixture
def slow(word_encoder: Any) -> type[Any]:
    """An encoder that makes the time pass by a second a text, without anybody having to wait."""

    class SlowEncoder(word_encoder):  # type: ignore[misc]
        clock: Clock | None = None

        def encode_documents(self, texts: Sequence[str]) -> Any:
            if self.clock is not None:
                self.clock.started -= len(texts)
            return super().encode_documents(texts)

    return SlowEncoder


def history() -> list[Document]:
    others = [Document(f"d{n}", f"Note {n} about wheels and chains", 1000.0 + n) for n in range(COUNT)]
    return [Document("wanted", WANTED, 500.0, "Where is the tide table?"), *others]


def stored(pearl: Any, encoder: Any, limit_ms: float | None) -> tuple[StoredEncoder, Clock]:
    clock = Clock(limit_ms)
    encoder.clock = clock
    return StoredEncoder(pearl.database, encoder, pearl.user("ann").id, Precedence(), clock), clock


def test_as_many_of_the_newest_are_embedded_as_there_is_time_for(pearl: Any, slow: Any) -> None:
    pearl.add("ann", *history())
    texts = [document.text for document in history()]
    encoder = slow()
    limited, clock = stored(pearl, encoder, 40_000.0)
    vectors = limited.encode_documents(texts)
    known = np.isfinite(vectors[:, 0])
    assert 10 <= known.sum() <= 20  # half of the time
    assert known[-known.sum() :].all()
    assert clock.not_embedded == len(texts) - known.sum()
    np.testing.assert_array_equal(
        vectors[known], encoder.encode_documents([t for t, k in zip(texts, known, strict=True) if k])
    )
    assert len(pearl.rows("embeddings")) == known.sum()


def test_with_no_time_at_all_one_is(pearl: Any, slow: Any) -> None:
    pearl.add("ann", "One.", "Two.", "Three.", "Four.")
    limited, clock = stored(pearl, slow(), 0.0)
    assert np.isfinite(limited.encode_documents(["One.", "Two.", "Three.", "Four."])[:, 0]).sum() == 2
    assert clock.not_embedded == 2
    again, clock = stored(pearl, slow(), 0.0)
    again.encode_documents(["One.", "Two.", "Three."])
    assert clock.not_embedded == 2
    unlimited, clock = stored(pearl, slow(), None)
    assert np.isfinite(unlimited.encode_documents(["One.", "Two."])).all()
    assert clock.not_embedded == 0


@pytest.mark.parametrize("name", ["artifact", "fusion", "dense", "dense-requests", "dense-sum"])
def test_what_is_not_embedded_is_ranked_all_the_same(pearl: Any, slow: Any, make_artifact: Any, name: str) -> None:
    pearl.add("ann", *history())
    limited, clock = stored(pearl, slow(), 0.0)
    weights = {"bm25_text": 1.0, "cosine_text": 1.0, "best_cosine_request": 1.0, "cosine_request_below_best": 1.0}
    if name == "artifact":
        retriever: Any = artifact_retriever(make_artifact(weights), limited)
    else:
        retriever = make_retriever(name, limited)
    index = retriever.index(history())
    assert clock.not_embedded > COUNT - 10
    found = retriever.rank(Request(WANTED), history())
    assert np.isfinite([each.score for each in found]).all()
    assert len(found) == COUNT + 1
    if name in ("artifact", "fusion"):  # words say which it is
        assert found[0].document.id == "wanted"
    limited_again, clock = stored(pearl, slow(), None)
    if name == "artifact":  # what was missing is taken up: the index is what a fresh one would be
        whole = artifact_retriever(make_artifact(weights), limited_again)
        fresh = whole.index(history()).scores(Request(WANTED))
        np.testing.assert_allclose(whole.update(index, history()).scores(Request(WANTED)), fresh, rtol=1e-6)


def test_the_answer_says_so_until_everything_is_embedded(house: Any, word_encoder: Any) -> None:
    """Over HTTP, with an encoder that is too slow for a budget."""

    class Sleepy(word_encoder):  # type: ignore[misc]
        seconds = 0.02

        def encode_documents(self, texts: Sequence[str]) -> Any:
            time.sleep(self.seconds * len(texts))
            return super().encode_documents(texts)

    pearl = house(encoder=Sleepy(), retrieval_budget_ms=100)
    pearl.add("ann", *history())
    ann = pearl.as_user("ann")
    first = ann.post("/v1/drafts", {"request": WANTED}).json()
    notes = {note["code"]: note["message"] for note in first["retrieval"]["notes"]}
    assert "texts are not embedded yet" in notes["not_embedded"]
    assert first["retrieval"]["documents"][0]["id"] == "wanted"
    assert len(pearl.encoder.encoded) < COUNT / 2
    embedder = BackgroundEmbedder(pearl.database, pearl.encoder, Precedence())
    while embedder.work_once():
        pass
    again = ann.post("/v1/drafts", {"request": WANTED}).json()
    assert "not_embedded" not in [note["code"] for note in again["retrieval"]["notes"]]
    texts = {document.text for document in history()} | {"Where is the tide table?"}
    assert sorted(pearl.encoder.encoded) == sorted(texts)  # each once


def test_a_deletion_computes_nothing(house: Any, word_encoder: Any) -> None:
    pearl = house(retrieval_budget_ms=0.001)
    pearl.add("ann", *history())
    ann = pearl.as_user("ann")
    ann.post("/v1/drafts", {"request": WANTED})
    before = len(pearl.encoder.encoded)
    assert ann.delete("/v1/documents/wanted").status_code == 204
    assert len(pearl.encoder.encoded) == before


def test_the_background_goes_on_with_who_waits(pearl: Any) -> None:
    """Ben's job is older, and long; ann was answered without her embeddings."""
    pearl.add("ben", *(Document(f"b{n}", f"Ben's note {n}", 1.0 + n) for n in range(2 * BATCH)))
    pearl.add("ann", "Ann's.")
    embedder = BackgroundEmbedder(pearl.database, pearl.encoder, Precedence())
    embedder.prefer(pearl.user("ann").id)
    assert embedder.work_once()
    assert pearl.encoder.encoded == ["Ann's."]
    pearl.add("ann", Document("later", "Ann's next.", 9.0))
    pearl.encoder.before = lambda: embedder.prefer(pearl.user("ann").id)  # while ben's is being worked on
    assert embedder.work_once()
    assert len(pearl.encoder.encoded) <= 1 + BATCH
    pearl.encoder.before = lambda: None
    assert embedder.work_once()
    assert pearl.encoder.encoded[-1] == "Ann's next."
    while embedder.work_once():
        pass
    assert len(pearl.encoder.encoded) == 2 + 2 * BATCH
    assert [job.state for job in pearl.rows("jobs")] == []


def test_a_user_who_is_gone_is_not_waited_for(pearl: Any) -> None:
    embedder = BackgroundEmbedder(pearl.database, pearl.encoder, Precedence())
    embedder.prefer(4711)
    pearl.add("ben", "Ben's.")
    assert embedder.work_once()
    assert not embedder.work_once()
    with pytest.raises(NotFound):
        pearl.services.histories.get(4711, None)
    with pearl.database.read() as connection:
        assert jobs.queued(connection, jobs.EMBED, [4711]) == set()


def test_a_command_embeds_everything_first(house: Any) -> None:
    pearl = house(retrieval_budget_ms=0.001)
    pearl.add("ann", *history())
    pearl.services.embed(pearl.user("ann").id)
    assert len(pearl.rows("embeddings")) == COUNT + 2
    first = pearl.as_user("ann").post("/v1/drafts", {"request": WANTED}).json()
    assert "not_embedded" not in [note["code"] for note in first["retrieval"]["notes"]]
