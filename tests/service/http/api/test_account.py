from __future__ import annotations

import asyncio
import io
import tempfile
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from pearl.records import Document
from service.http.api import account
from service.http.api.account import WrittenExport

SECRET = "the heron ate my brake cable"


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.voice("ann", "email", instructions=f"Mention that {SECRET}.")
    pearl.add("ann", Document("a", SECRET, 5.0, "Why?", "email"), Document("b", "Other.", 6.5))
    return pearl.as_user("ann")


def test_everything_out(pearl: Any, ann: Any) -> None:
    draft = ann.post("/v1/drafts", {"request": "write", "instructions": "Briefly."}).json()
    given = ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"}).json()
    pearl.add("ben", "Ben's.")
    answer = ann.get("/v1/export")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert "pearl-export.json" in answer.headers["content-disposition"]
    export = answer.json()
    assert (export["object"], export["user_id"]) == ("export", "ann")
    assert [voice["name"] for voice in export["voices"]] == ["email"]
    assert [document["id"] for document in export["documents"]] == ["a", "b", draft["id"]]
    assert [(kept["id"], kept["request"], kept["instructions"]) for kept in export["drafts"]] == [
        (draft["id"], "write", "Briefly.")
    ]
    assert export["feedback"] == [given]
    assert "Ben's" not in answer.text


def test_what_comes_out_goes_in_again(pearl: Any, ann: Any) -> None:
    exported = ann.get("/v1/export").json()["documents"]
    assert exported[0] == {
        "user_id": "ann",
        "id": "a",
        "timestamp": 5.0,
        "text": SECRET,
        "request": "Why?",
        "voice": "email",
    }
    assert ann.post("/v1/documents", exported).json()["existing"] == 2
    ben = pearl.as_user("ben")
    assert ben.post("/v1/documents", {"documents": exported}).json()["created"] == 2
    again = ben.get("/v1/export").json()["documents"]
    assert [{**line, "user_id": "ann"} for line in again] == exported


def test_a_long_history(pearl: Any) -> None:
    pearl.add("ann", *(f"Text {number}. {'word ' * 20}" for number in range(1234)))
    export = pearl.as_user("ann").get("/v1/export").json()
    assert [document["id"] for document in export["documents"]] == [f"d{number}" for number in range(1, 1235)]


def test_a_long_history_and_a_full_temporary_folder(pearl: Any, files_of_at_most: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(account, "IN_MEMORY", 1_000)
    pearl.add("ann", "word " * 100_000)
    ann = pearl.as_user("ann")
    with files_of_at_most(1_000):
        answer = ann.get("/v1/export")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "disk_full")
    assert error["message"].startswith(f"The temporary folder {tempfile.gettempdir()} cannot be written")
    assert len(ann.get("/v1/export").json()["documents"]) == 1


def test_nothing_yet(pearl: Any) -> None:
    export = pearl.as_user("new").get("/v1/export").json()
    assert [export[name] for name in ("voices", "documents", "drafts", "feedback")] == [[], [], [], []]


def test_an_export_under_a_key_is_recognised_but_not_stored(pearl: Any, ann: Any) -> None:
    first = ann.get("/v1/export", headers={"Idempotency-Key": "k"})
    again = ann.get("/v1/export", headers={"Idempotency-Key": "k"})
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["documents"] == first.json()["documents"]
    (row,) = pearl.rows("idempotency")
    assert SECRET not in str(row)


def test_an_export_does_not_hold_the_store_while_it_is_read(listen: Any) -> None:
    import httpx2

    served = listen()
    served.house.add("ann", *("word " * 10_000 for _ in range(60)))  # 3 MB, more than any buffer on the way
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    with (
        httpx2.Client(base_url=served.address, headers=headers, timeout=60) as client,
        client.stream("GET", "/v1/export") as answer,
    ):
        pieces = answer.iter_bytes(100)
        next(pieces)
        assert client.delete("/v1/documents/d1").status_code == 204
        assert served.house.services.database.engine.pool.checkedout() == 0


def test_gone_for_good(pearl: Any, ann: Any) -> None:
    pearl.model.replies.extend([f"Draft: {SECRET}", SECRET])
    draft = ann.post("/v1/drafts", {"request": SECRET, "instructions": SECRET}).json()
    ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "edited", "final_text": f"So {SECRET}."})
    ann.get("/v1/export", headers={"Idempotency-Key": SECRET.replace(" ", "-")})
    service = {"Authorization": f"Bearer {pearl.service_key('ann')}", "X-Pearl-User": "ann"}
    ben = pearl.as_user("ben")
    ben.post("/v1/documents", {"id": "b", "text": "Ben's."})
    assert pearl.on_disk(SECRET)
    assert ann.delete("/v1/me").status_code == 204
    assert not pearl.on_disk(SECRET)
    assert not pearl.on_disk(SECRET.replace(" ", "-"))
    for table in ("voices", "drafts", "feedback", "embeddings", "idempotency", "grants"):
        assert pearl.rows(table) == []
    assert ann.get("/v1/documents").status_code == 401
    assert ann.delete("/v1/me").status_code == 401
    assert pearl.client.get("/v1/documents", headers=service).status_code == 403
    assert ben.get("/v1/documents/b").status_code == 200


def test_a_user_whose_calibrations_cannot_be_deleted_stays(pearl: Any, ann: Any) -> None:
    """Replies that a calibration kept hold texts, and no later deletion would find them."""
    in_the_way = pearl.settings.home / "calibrations" / f"{pearl.user('ann').id}.sqlite"
    in_the_way.mkdir(parents=True)
    assert ann.delete("/v1/me").status_code == 500
    assert ann.get("/v1/documents").status_code == 200
    in_the_way.rmdir()
    assert ann.delete("/v1/me").status_code == 204
    assert ann.get("/v1/documents").status_code == 401


def test_who_comes_back_under_the_same_name_finds_nothing(pearl: Any, ann: Any) -> None:
    ann.post("/v1/drafts", {"request": "write"})  # the history is in the cache
    ann.delete("/v1/me")
    again = pearl.as_user("ann")
    assert again.get("/v1/documents").json()["data"] == []
    assert again.post("/v1/drafts", {"request": "write"}).json()["retrieval"]["documents"] == []


def test_a_user_made_next_does_not_inherit_another_process_cache(pearl: Any, ann: Any) -> None:
    """A second worker process keeps ann's history when the first deletes her; her row's number must not come back."""
    from retriever.baselines.bm25 import BM25Retriever
    from service.histories.history_cache import HistoryCache

    other = HistoryCache(pearl.database, lambda *_: BM25Retriever(), max_bytes=10**9)
    pearl.add("ann", Document("c", "More.", 7.0), Document("d", "And more.", 8.0))
    first = pearl.user("ann").id
    assert len(other.get(first, None).documents) == 4
    ann.delete("/v1/me")
    ben = pearl.user("ben").id
    assert ben != first
    assert other.get(ben, None).documents == ()


def test_the_file_of_an_export_is_closed_when_the_client_leaves_before_its_first_piece() -> None:
    file = io.BytesIO(b"{}")

    async def gone(message: Any) -> None:
        raise OSError("the client is gone")

    async def silent() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(ClientDisconnect):
        asyncio.run(WrittenExport(file, {})({"type": "http", "asgi": {"spec_version": "2.4"}}, silent, gone))
    assert file.closed
