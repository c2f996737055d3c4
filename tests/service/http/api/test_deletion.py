from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from pearl.records import Document
from service.http.app import create_app
from service.store import user_counts

SECRET = "the heron ate my brake cable"


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.voice("ann", "email", instructions=f"Mention that {SECRET}.")
    pearl.add("ann", *(Document(f"d{n}", f"{SECRET} {n}", 5.0 + n, "Why?", "email") for n in range(300)))
    return pearl.as_user("ann")


@pytest.mark.parametrize("path", ["/v1/documents/d7", "/v1/voices/email", "/v1/me"])
def test_an_answer_that_says_when_traces_are_left(pearl: Any, ann: Any, path: str) -> None:
    with pearl.database.read() as reader:
        user_counts.count_documents(reader, 1)
        answer = ann.delete(path)
        assert answer.status_code == 202
        assert (answer.json()["object"], answer.json()["status"]) == ("deletion", "erasing")
        assert len(pearl.rows("erasures")) == 1
        pearl.services.sweep()  # the reader is still there
        assert len(pearl.rows("erasures")) == 1
    pearl.services.sweep()
    assert pearl.rows("erasures") == []
    if path == "/v1/me":
        assert not pearl.on_disk(SECRET)


def test_without_readers_nothing_is_owed(pearl: Any, ann: Any) -> None:
    answer = ann.delete("/v1/me")
    assert (answer.status_code, answer.content) == (204, b"")
    assert pearl.rows("erasures") == []
    assert not pearl.on_disk(SECRET)


def test_a_start_erases_what_is_owed(pearl: Any, ann: Any, until: Callable[[Callable[[], bool]], None]) -> None:
    with pearl.database.read() as reader:
        user_counts.count_documents(reader, 1)
        assert ann.delete("/v1/me").status_code == 202
    assert pearl.on_disk(SECRET)
    with TestClient(create_app(pearl.settings, model=pearl.model, encoder=pearl.encoder)):
        until(lambda: pearl.rows("erasures") == [])
    assert not pearl.on_disk(SECRET)


def test_a_database_that_cannot_erase_now_is_no_error(
    house: Any, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.store.database.TIMEOUT_S", 0.5)
    pearl = house(database_url=postgres_url)
    pearl.add("ann", SECRET)
    ann = pearl.as_user("ann")
    with pearl.database.engine.connect() as other, other.begin():
        other.exec_driver_sql("LOCK TABLE documents IN SHARE UPDATE EXCLUSIVE MODE")  # as a VACUUM of another program
        assert ann.delete("/v1/documents/d1").status_code == 202
    assert ann.get("/v1/documents/d1").status_code == 404
    pearl.services.sweep()
    assert pearl.rows("erasures") == []
