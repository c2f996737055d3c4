from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from sqlalchemy import update

from pearl.errors import ChatTimeout
from service.http.api.idempotency import ABANDONED_S
from service.store.tables import idempotency as table

KEY = {"Idempotency-Key": "call-1"}


def test_the_same_call_is_answered_but_not_carried_out_again(pearl: Any, ann: Any) -> None:
    body = {"text": "No id: twice would be two documents."}
    first = ann.post("/v1/documents", body, headers=KEY)
    again = ann.post("/v1/documents", body, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert len(pearl.rows("documents")) == 1


def test_without_a_key_it_is_carried_out_each_time(pearl: Any, ann: Any) -> None:
    for _ in range(2):
        ann.post("/v1/documents", {"text": "No id."})
    assert len(pearl.rows("documents")) == 2


def test_another_call_under_the_same_key_is_refused(pearl: Any, ann: Any) -> None:
    draft = ann.post("/v1/drafts", {"request": "write"}).json()
    ann.post("/v1/documents", {"text": "One."}, headers=KEY)
    for answer in (
        ann.post("/v1/documents", {"text": "Two."}, headers=KEY),
        ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"}, headers=KEY),
        ann.get("/v1/export", headers=KEY),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency_key_reused")
        assert answer.json()["error"]["param"] == "Idempotency-Key"
    assert len(pearl.rows("documents")) == 1


def test_keys_are_each_users_own(pearl: Any, ann: Any) -> None:
    ann.post("/v1/documents", {"text": "Ann's."}, headers=KEY)
    answer = pearl.as_user("ben").post("/v1/documents", {"text": "Ben's."}, headers=KEY)
    assert answer.status_code == 201
    assert "idempotent-replayed" not in answer.headers


def test_a_call_that_fails_frees_its_key(pearl: Any, ann: Any) -> None:
    ann.post("/v1/documents", {"id": "a", "text": "First."})
    assert ann.post("/v1/documents", {"id": "a", "text": "Other."}, headers=KEY).status_code == 409
    assert pearl.rows("idempotency") == []
    assert ann.post("/v1/documents", {"id": "b", "text": "Other."}, headers=KEY).status_code == 201


def test_a_call_that_is_not_even_valid_takes_no_key(pearl: Any, ann: Any) -> None:
    assert ann.post("/v1/documents", {"text": ""}, headers=KEY).status_code == 422
    assert pearl.rows("idempotency") == []


def test_while_the_first_is_under_way_the_second_is_told_to_wait(pearl: Any, ann: Any) -> None:
    body = {"text": "One."}
    ann.post("/v1/documents", body, headers=KEY)
    with pearl.database.write() as connection:
        connection.execute(update(table).values(status=None, body=None))
    answer = ann.post("/v1/documents", body, headers=KEY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "idempotency_in_progress")
    assert answer.headers["retry-after"] == "1"


def test_the_key_of_a_call_whose_process_died_comes_free(pearl: Any, ann: Any) -> None:
    body = {"id": "a", "text": "One."}
    ann.post("/v1/documents", body, headers=KEY)
    with pearl.database.write() as connection:
        connection.execute(update(table).values(status=None, created_at=time.time() - ABANDONED_S - 1))
    answer = ann.post("/v1/documents", body, headers=KEY)
    assert (answer.status_code, answer.json()["existing"]) == (200, 1)


def test_a_draft_under_a_key(pearl: Any, ann: Any) -> None:
    pearl.add("ann", "Kettle's on, see you at ten.")
    first, again = (ann.post("/v1/drafts", {"request": "write"}, headers=KEY) for _ in range(2))
    assert (first.status_code, again.headers["idempotent-replayed"]) == (200, "true")
    assert first.json()["text"] == "A fake reply."
    assert first.json()["retrieval"]["documents"][0]["excerpt"] == "Kettle's on, see you at ten."
    by_name = lambda body: {**body, "timings": sorted(body["timings"])}  # noqa: E731 - one ends with its transaction
    assert by_name(first.json()) == by_name(again.json())
    assert "record_ms" in again.json()["timings"]
    assert len(pearl.rows("drafts")) == len(pearl.model.calls) == 1
    (row,) = pearl.rows("idempotency")
    assert "fake reply" not in row.body
    assert "Kettle" not in row.body  # neither outlives its deletion here
    ann.delete("/v1/documents/d1")
    assert (
        ann.post("/v1/drafts", {"request": "write"}, headers=KEY).json()["retrieval"]["documents"][0]["excerpt"] == ""
    )


def test_a_draft_that_fails_frees_its_key(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append(ChatTimeout("It took too long."))
    assert ann.post("/v1/drafts", {"request": "write"}, headers=KEY).status_code == 504
    assert pearl.rows("idempotency") == []
    assert ann.post("/v1/drafts", {"request": "write"}, headers=KEY).status_code == 200


def test_a_stream_takes_no_key(ann: Any) -> None:
    answer = ann.post("/v1/drafts", {"request": "write", "stream": True}, headers=KEY)
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "Idempotency-Key")


def test_while_a_draft_is_written_its_key_is_taken(listen: Any, silent_model: Any) -> None:
    import httpx2

    model = silent_model()
    served = listen(model=model)
    headers = {"Authorization": f"Bearer {served.house.key('ann')}", **KEY}
    statuses: list[int] = []

    def call() -> None:
        statuses.append(
            httpx2.post(
                f"{served.address}/v1/drafts", json={"request": "write"}, headers=headers, timeout=60
            ).status_code
        )

    first = threading.Thread(target=call)
    first.start()
    assert model.asked.wait(60)
    call()
    model.go_on.set()
    first.join()
    call()
    assert statuses == [409, 200, 200]
    assert len(served.house.rows("drafts")) == 1


def test_answers_are_forgotten_after_a_while(pearl: Any) -> None:
    ann = pearl.as_user("ann")
    ann.post("/v1/documents", {"text": "One."}, headers=KEY)
    with pearl.database.write() as connection:
        connection.execute(update(table).values(created_at=time.time() - 24 * 3600 - 1))
    assert ann.post("/v1/documents", {"text": "Two."}, headers=KEY).status_code == 201
    assert len(pearl.rows("documents")) == 2


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there"])
def test_a_key_that_cannot_be(ann: Any, key: str) -> None:
    answer = ann.post("/v1/documents", {"text": "One."}, headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "Idempotency-Key")
