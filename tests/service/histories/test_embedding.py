from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from pearl.clock import Clock
from pearl.errors import StoreError
from pearl.records import Document
from retriever.calibrated.artifact import artifact_retriever
from service.histories.embedding import AT_ONCE, BATCH, BackgroundEmbedder, Precedence, StoredEncoder, encode
from service.store import documents, embeddings, jobs, users
from service.store.database import TIMEOUT_S


@pytest.fixture
def embedder(pearl: Any) -> BackgroundEmbedder:
    return BackgroundEmbedder(pearl.database, pearl.encoder, Precedence())


def states(pearl: Any) -> list[str]:
    return [job.state for job in pearl.rows("jobs")]


def test_a_few_texts_at_a_time(word_encoder: Any) -> None:
    sizes: list[int] = []

    class Counting(word_encoder):  # type: ignore[misc]
        def encode_documents(self, texts: Any) -> Any:
            sizes.append(len(texts))
            return super().encode_documents(texts)

    texts = [f"text {number}" for number in range(AT_ONCE * 2 + 1)]
    assert len(encode(Counting(), texts)) == len(texts)
    assert sizes == [AT_ONCE, AT_ONCE, 1]
    assert encode(Counting(), texts, lambda: len(sizes) > 3).keys() < encode(Counting(), texts).keys()


def test_what_is_known_is_not_computed_again(pearl: Any) -> None:
    pearl.add("ann", "One.", "Two.", "Two.")
    stored = StoredEncoder(pearl.database, pearl.encoder, pearl.user("ann").id, Precedence())
    first = stored.encode_documents(["One.", "Two.", "Two."])
    again = stored.encode_documents(["Two.", "One."])
    assert pearl.encoder.encoded == ["One.", "Two."]
    np.testing.assert_array_equal(first, pearl.encoder.encode_documents(["One.", "Two.", "Two."]))
    np.testing.assert_array_equal(again, first[[1, 0]])
    assert len(pearl.rows("embeddings")) == 2


def test_whoever_has_little_time_does_not_wait_for_a_long_write(pearl: Any) -> None:
    texts = ["One.", "Two."]
    pearl.add("ann", *texts)
    ann = pearl.user("ann").id

    def encoded(clock: Clock) -> Any:
        return StoredEncoder(pearl.database, pearl.encoder, ann, Precedence(), clock).encode_documents(texts)

    with pearl.database.write() as held:
        users.touch_history(held, {ann})  # on PostgreSQL the lock is this row's
        hasty = Clock(300)
        assert np.isfinite(encoded(hasty)).all()
        assert hasty.read()["total_ms"] < 1000 * TIMEOUT_S
    assert pearl.rows("embeddings") == []
    encoded(Clock(60_000))
    assert len(pearl.rows("embeddings")) == 2


def test_what_is_missing_is_looked_up_for_many_batches_at_once(
    pearl: Any, embedder: BackgroundEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []
    look_up = embeddings.missing

    def counted(*arguments: Any) -> list[str]:
        looked_up.append(arguments)
        return look_up(*arguments)

    monkeypatch.setattr(embeddings, "missing", counted)
    pearl.add("ann", *(f"Text {number}." for number in range(3 * BATCH)))
    assert embedder.work_once()
    assert len(pearl.rows("embeddings")) == 3 * BATCH
    assert len(looked_up) == 2  # the second time there is nothing left


def test_an_import_queues_a_job_that_is_worked_off(pearl: Any, embedder: BackgroundEmbedder) -> None:
    pearl.add("ann", *(f"Text {number}." for number in range(BATCH + 3)))
    pearl.add("ben", "Ben's.")
    assert states(pearl) == ["queued", "queued"]
    assert embedder.work_once()
    assert len(pearl.rows("embeddings")) == BATCH + 3
    assert states(pearl) == ["queued"]
    assert embedder.work_once()
    assert not embedder.work_once()
    assert pearl.rows("jobs") == []
    assert len(pearl.rows("embeddings")) == BATCH + 4


def test_requests_are_embedded_with_the_texts(pearl: Any, embedder: BackgroundEmbedder, make_artifact: Any) -> None:
    """So that the first draft after an import has nothing left to embed but its own request."""
    pearl.add(
        "ann", Document("a", "One.", 1.0, "Write one"), Document("b", "Two.", 2.0), Document("c", "3", 3.0, "One.")
    )
    assert embedder.work_once()
    assert sorted(pearl.encoder.encoded) == ["3", "One.", "Two.", "Write one"]
    stored = StoredEncoder(pearl.database, pearl.encoder, pearl.user("ann").id, Precedence())
    with pearl.database.read() as connection:
        history = documents.all_of_user(connection, pearl.user("ann").id)
    artifact_retriever(make_artifact(), stored).index(history)
    assert len(pearl.encoder.encoded) == 4


def test_what_the_request_path_embeds_of_requests_is_kept(pearl: Any) -> None:
    pearl.add("ann", Document("a", "One.", 1.0, "Write one"))
    stored = StoredEncoder(pearl.database, pearl.encoder, pearl.user("ann").id, Precedence())
    stored.encode_documents(["One.", "Write one"])
    stored.encode_documents(["One.", "Write one"])
    assert sorted(pearl.encoder.encoded) == ["One.", "Write one"]


def test_documents_deleted_meanwhile_leave_no_vector(pearl: Any, embedder: BackgroundEmbedder) -> None:
    pearl.add("ann", "One.", "Two.")
    ann = pearl.user("ann")

    def delete() -> None:
        pearl.encoder.before = lambda: None
        with pearl.database.write() as connection:
            documents.remove(connection, ann.id, "d1")

    pearl.encoder.before = delete
    assert embedder.work_once()
    assert sorted(pearl.encoder.encoded) == ["One.", "Two."]
    assert len(pearl.rows("embeddings")) == 1


def test_a_user_deleted_meanwhile_leaves_nothing(pearl: Any, embedder: BackgroundEmbedder) -> None:
    pearl.add("ann", "One.")
    ann = pearl.user("ann")

    def delete() -> None:
        pearl.encoder.before = lambda: None
        with pearl.database.write() as connection:
            users.remove(connection, ann.id)

    pearl.encoder.before = delete
    assert embedder.work_once()
    assert (pearl.rows("embeddings"), pearl.rows("jobs")) == ([], [])


def test_documents_added_meanwhile_are_done_too(pearl: Any, embedder: BackgroundEmbedder) -> None:
    pearl.add("ann", "One.")

    def add() -> None:
        pearl.encoder.before = lambda: None
        pearl.as_user("ann").post("/v1/documents", {"text": "Two."})

    pearl.encoder.before = add
    while embedder.work_once():
        pass
    assert len(pearl.rows("embeddings")) == 2
    assert pearl.rows("jobs") == []


def test_an_encoder_that_fails_is_tried_again_and_then_given_up(
    pearl: Any, embedder: BackgroundEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    words = "A secret text."
    pearl.add("ann", words)

    def fail() -> None:
        raise RuntimeError(words)

    pearl.encoder.before = fail
    worked = 0
    while embedder.work_once():
        worked += 1
    assert worked == jobs.MAX_ATTEMPTS
    assert states(pearl) == ["failed"]
    assert pearl.rows("jobs")[0].error == "RuntimeError"
    assert "embedding failed" in caplog.text
    assert "secret" not in caplog.text


def test_an_encoder_that_fails_half_way_is_tried_again_at_once(pearl: Any, embedder: BackgroundEmbedder) -> None:
    pearl.add("ann", *(f"Text {number}." for number in range(BATCH + 1)))

    def fail() -> None:
        if len(pearl.encoder.encoded) >= BATCH:
            raise ValueError

    pearl.encoder.before = fail
    assert embedder.work_once()
    assert (states(pearl), len(pearl.rows("embeddings"))) == (["queued"], BATCH)


def test_a_store_that_cannot_be_written_is_said_once(
    embedder: BackgroundEmbedder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = threading.Semaphore(0)

    def full() -> bool:
        tried.release()
        raise StoreError("The disk is full.")

    monkeypatch.setattr("service.histories.embedding.IDLE_S", 0.0)
    monkeypatch.setattr(embedder, "work_once", full)
    embedder.start()
    for _ in range(5):
        assert tried.acquire(timeout=120)
    embedder.stop()
    assert caplog.messages == ["embedding: The disk is full."]


def test_who_waited_is_forgotten_when_no_job_is_left(
    pearl: Any, embedder: BackgroundEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may finish the job, or the user may be deleted."""
    asked: list[list[int]] = []
    monkeypatch.setattr(jobs, "claim", lambda *_, first: asked.append(first))
    ann = pearl.user("ann").id
    embedder.prefer(ann)
    assert [embedder.work_once(), embedder.work_once()] == [False, False]
    assert asked == [[ann], []]


def test_it_works_by_itself_and_stops(pearl: Any, embedder: BackgroundEmbedder, until: Any) -> None:
    pearl.add("ann", "One.")
    embedder.start()
    until(lambda: pearl.rows("jobs") == [])
    embedder.stop()
    assert len(pearl.rows("embeddings")) == 1
    embedder.stop()  # twice is no harm


def test_stopping_gives_the_job_back(pearl: Any, embedder: BackgroundEmbedder) -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        at_work.set()
        assert go_on.wait(60)

    pearl.encoder.before = wait
    pearl.add("ann", *(f"Text {number}." for number in range(AT_ONCE * 3)))
    embedder.start()
    assert at_work.wait(60)
    stopping = threading.Thread(target=embedder.stop)
    stopping.start()
    assert embedder._stopping.wait(60)
    go_on.set()
    stopping.join()
    assert states(pearl) == ["queued"]
    assert pearl.rows("jobs")[0].attempts == 0
    assert len(pearl.rows("embeddings")) == AT_ONCE  # what was done is kept


def test_a_locked_store_is_waited_for(house: Any, until: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr("service.store.database.TIMEOUT_S", 0.05)
    pearl = house()
    pearl.add("ann", "One.")
    other = sqlite3.connect(pearl.settings.home / "pearl.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    embedder = BackgroundEmbedder(pearl.database, pearl.encoder, Precedence())
    embedder.start()
    time.sleep(0.2)
    other.close()
    until(lambda: pearl.rows("jobs") == [])
    embedder.stop()


def test_a_job_goes_on_at_once_when_the_store_answers_again(
    house: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is this process's own: to wait as for one whose process died would take minutes."""
    import sqlite3

    monkeypatch.setattr("service.store.database.TIMEOUT_S", 0.05)
    pearl = house()
    pearl.add("ann", "One.")
    other = sqlite3.connect(pearl.settings.home / "pearl.db", isolation_level=None, check_same_thread=False)
    locked = threading.Event()

    def lock() -> None:
        if not locked.is_set():
            other.execute("BEGIN IMMEDIATE")
            locked.set()

    pearl.encoder.before = lock
    embedder = BackgroundEmbedder(pearl.database, pearl.encoder, Precedence())
    embedder.start()
    assert locked.wait(60)
    time.sleep(0.2)  # the embedder gives up writing
    other.close()
    until(lambda: pearl.rows("jobs") == [])
    embedder.stop()
    assert len(pearl.rows("embeddings")) == 1


def test_the_service_embeds_in_the_background(house: Any, until: Any) -> None:
    pearl = house(embed_in_background=True)
    pearl.as_user("ann").post("/v1/documents", {"text": "One."})
    until(lambda: len(pearl.rows("embeddings")) == 1)


@pytest.mark.parametrize("options", [{"embed_in_background": False}, {"retriever": "bm25"}])
def test_where_nobody_needs_embeddings_none_are_made(house: Any, options: Any) -> None:
    pearl = house(**{"embed_in_background": True, **options})
    pearl.as_user("ann").post("/v1/documents", {"text": "One."})
    time.sleep(0.1)
    assert pearl.encoder.encoded == []


def test_the_background_waits_while_a_request_needs_the_encoder(pearl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.histories.embedding.IDLE_S", 60.0)  # after which it waits no longer
    precedence = Precedence()
    embedder = BackgroundEmbedder(pearl.database, pearl.encoder, precedence)
    pearl.add("ann", "One.")
    asked, done = threading.Event(), threading.Event()

    def request() -> None:
        with precedence.of_request():
            asked.set()
            done.wait(60)

    thread = threading.Thread(target=request)
    thread.start()
    asked.wait(60)
    worker = threading.Thread(target=embedder.work_once)
    worker.start()
    worker.join(0.2)
    assert worker.is_alive()
    assert pearl.rows("embeddings") == []
    done.set()
    thread.join()
    worker.join()
    assert len(pearl.rows("embeddings")) == 1
