from __future__ import annotations

import time
from typing import Any

import pytest

from pearl.records import Document
from service.store import documents, users


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.voice("ann", "email")
    return pearl.as_user("ann")


@pytest.fixture
def draft(pearl: Any, ann: Any) -> Any:
    pearl.model.replies.append("Yes, swap away.")
    return ann.post("/v1/drafts", {"request": "May I swap?", "voice": "email"}).json()


@pytest.mark.parametrize(
    ("outcome", "final_text", "sent"),
    [
        ("accepted", None, "Yes, swap away."),
        ("accepted", "Yes, swap away.", "Yes, swap away."),
        ("edited", "Yes. Otti", "Yes. Otti"),
    ],
)
def test_what_was_sent_becomes_history(
    pearl: Any, ann: Any, draft: Any, outcome: str, final_text: str | None, sent: str
) -> None:
    body = {"draft_id": draft["id"], "outcome": outcome, "final_text": final_text}
    answer = ann.post("/v1/feedback", body)
    assert answer.status_code == 201
    given = answer.json()
    assert abs(given.pop("created_at") - time.time()) < 60
    assert given.pop("id").startswith("feedback_")
    assert given == {"object": "feedback", "draft_id": draft["id"], "outcome": outcome, "document_id": draft["id"]}
    kept = ann.get(f"/v1/documents/{draft['id']}").json()
    assert (kept["text"], kept["request"], kept["voice"]) == (sent, "May I swap?", "email")
    shown = ann.post("/v1/drafts", {"request": "swap", "voice": "email"}).json()["retrieval"]["documents"]
    assert [document["id"] for document in shown] == ([draft["id"]] if outcome == "edited" else [])


def test_a_voice_that_was_deleted_since_stays_deleted(pearl: Any, ann: Any, draft: Any) -> None:
    assert ann.delete("/v1/voices/email").status_code == 204
    assert ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"}).status_code == 201
    assert ann.get(f"/v1/documents/{draft['id']}").json()["voice"] is None
    assert ann.get("/v1/voices").json()["data"] == []


def test_a_document_that_has_the_drafts_id_already(pearl: Any, ann: Any, draft: Any) -> None:
    """An edit is measured by the text that was sent, not by one that happens to stand there."""
    assert ann.post("/v1/documents", {"id": draft["id"], "text": "Yes. Otti"}).status_code == 201
    refused = ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "document_exists")
    assert pearl.rows("feedback") == []
    same = {"draft_id": draft["id"], "outcome": "edited", "final_text": "Yes. Otti"}
    assert ann.post("/v1/feedback", same).status_code == 201


def test_a_rejected_draft_leaves_no_document(pearl: Any, ann: Any, draft: Any) -> None:
    answer = ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "rejected"})
    assert (answer.status_code, answer.json()["document_id"]) == (201, None)
    assert pearl.rows("documents") == []


@pytest.mark.parametrize(
    "body",
    [{"outcome": "accepted"}, {"outcome": "edited", "final_text": "Yes. Otti"}, {"outcome": "rejected"}],
    ids=lambda body: body["outcome"],
)
def test_the_same_twice_is_the_same(pearl: Any, ann: Any, draft: Any, body: Any) -> None:
    first, again = (ann.post("/v1/feedback", {"draft_id": draft["id"], **body}) for _ in range(2))
    assert first.json() == again.json()
    assert len(pearl.rows("feedback")) == 1


@pytest.mark.parametrize(
    "other",
    [{"outcome": "rejected"}, {"outcome": "edited", "final_text": "No."}],
    ids=["another outcome", "another text"],
)
def test_something_else_is_a_conflict(pearl: Any, ann: Any, draft: Any, other: Any) -> None:
    first = {"outcome": "edited", "final_text": "Yes. Otti"}
    assert ann.post("/v1/feedback", {"draft_id": draft["id"], **first}).status_code == 201
    answer = ann.post("/v1/feedback", {"draft_id": draft["id"], **other})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "feedback_exists")
    assert ann.get(f"/v1/documents/{draft['id']}").json()["text"] == "Yes. Otti"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"outcome": "edited"}, "final_text"),
        ({"outcome": "edited", "final_text": "  "}, "final_text"),
        ({"outcome": "edited", "final_text": "\0"}, "final_text"),
        ({"outcome": "accepted", "final_text": "Another."}, "final_text"),
        ({"outcome": "rejected", "final_text": "Another."}, "final_text"),
        ({"outcome": "perhaps"}, "outcome"),
        ({}, "outcome"),
        ({"outcome": "accepted", "stars": 5}, "stars"),
        ({"outcome": "accepted", "draft_id": "a\0"}, "draft_id"),
        ({"outcome": "accepted", "draft_id": None}, "draft_id"),
    ],
)
def test_feedback_that_cannot_be(pearl: Any, ann: Any, draft: Any, body: Any, param: str) -> None:
    answer = ann.post("/v1/feedback", {"draft_id": draft["id"], **body})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)
    assert pearl.rows("feedback") == []


def test_only_ones_own_drafts(pearl: Any, ann: Any, draft: Any) -> None:
    for caller, name in ((pearl.as_user("ben"), draft["id"]), (ann, "draft_nobody")):
        answer = caller.post("/v1/feedback", {"draft_id": name, "outcome": "accepted"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "draft_not_found")


def test_questions_cannot_be_accepted(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    from retriever.base import Calibration

    pearl.add("ann", "Text.")
    pearl.retrieve_with(fixed_retriever({}, Calibration(threshold=3.0, ask_below=2.0)))
    pearl.model.replies.append("- Which day?")
    asked = ann.post("/v1/drafts", {"request": "swap"}).json()
    answer = ann.post("/v1/feedback", {"draft_id": asked["id"], "outcome": "accepted"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "empty_text")
    assert (
        ann.post("/v1/feedback", {"draft_id": asked["id"], "outcome": "edited", "final_text": "Mine."}).status_code
        == 201
    )


def samples(ann: Any) -> list[str]:
    shown = ann.post("/v1/drafts", {"request": "swap", "voice": "email", "k": 20}).json()["retrieval"]["documents"]
    return [document["id"] for document in shown]


def test_an_unchanged_draft_is_no_sample_until_its_owner_says_so(pearl: Any, ann: Any, draft: Any) -> None:
    """A style must not learn itself."""
    ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"})
    kept = ann.get(f"/v1/documents/{draft['id']}").json()
    mark = {"draft_id": draft["id"], "machine_share": 1.0, "mine": None, "sample": False}
    assert (kept["sent_draft"], kept["set_apart"]) == (mark, "accepted_unchanged")
    assert [listed["id"] for listed in ann.get("/v1/documents?set_apart=true").json()["data"]] == [draft["id"]]
    assert ann.get("/v1/documents").json()["data"][0]["sent_draft"] == mark
    assert samples(ann) == []
    said = ann("PATCH", f"/v1/documents/{draft['id']}", {"mine": True}).json()
    assert said["sent_draft"] == mark | {"mine": True, "sample": True}
    assert (said["voice"], "set_apart" in said) == ("email", False)
    assert ann.get("/v1/documents?set_apart=true").json()["data"] == []
    assert samples(ann) == [draft["id"]]
    assert ann("PATCH", f"/v1/documents/{draft['id']}", {"mine": False}).json()["sent_draft"]["sample"] is False
    assert samples(ann) == []


def test_the_same_text_from_an_import_is_none_either(pearl: Any, ann: Any, draft: Any) -> None:
    before = {"id": "old", "text": "Yes, swap away.", "timestamp": 1000.0, "voice": "email"}
    ann.post("/v1/documents", before)
    ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"})
    ann.post("/v1/documents", {"id": "sent-mail", "text": "Yes, swap away.", "voice": "email"})
    assert samples(ann) == ["old"]  # what was written before the draft is no copy of it


@pytest.mark.parametrize(
    ("sent", "share", "reason"),
    [
        ("Yes, swap away!", 1.0, "accepted_unchanged"),
        ("yes", 1.0, "accepted_unchanged"),
        ("Yes, swap it with Bea then.", 2 / 6, None),
        ("Yes, swap now, Bea", 0.5, None),
        ("Swap away, all of you", 2 / 5, None),
        ("Well yes, swap away", 3 / 4, "accepted_unchanged"),
        ("Well yes do swap it away", 3 / 6, None),
        ("Well, yes: swap, away then then", 3 / 6, None),
        ("Yes", 1.0, "accepted_unchanged"),
    ],
)
def test_the_share_of_the_machine_decides(
    pearl: Any, ann: Any, draft: Any, sent: str, share: float, reason: str | None
) -> None:
    ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "edited", "final_text": sent})
    document = ann.get(f"/v1/documents/{draft['id']}").json()
    mark = document["sent_draft"]
    assert (mark["machine_share"], mark["sample"]) == (pytest.approx(share), reason is None)
    assert document.get("set_apart") == reason
    assert samples(ann) == ([] if reason else [draft["id"]])


def test_a_text_that_was_never_a_draft_has_no_mark(pearl: Any, ann: Any) -> None:
    ann.post("/v1/documents", {"id": "a", "text": "Own words.", "voice": "email"})
    assert "sent_draft" not in ann.get("/v1/documents/a").json()
    assert ann("PATCH", "/v1/documents/a", {"mine": True}).status_code == 200
    assert samples(ann) == ["a"]
    assert ann("PATCH", "/v1/documents/a", {"mine": False}).json()["set_apart"] == "not_mine"
    assert samples(ann) == []
    assert "set_apart" not in ann("PATCH", "/v1/documents/a", {"mine": True}).json()
    assert samples(ann) == ["a"]
    assert ann("PATCH", "/v1/documents/b", {"mine": True}).status_code == 404
    assert pearl.as_user("ben")("PATCH", "/v1/documents/a", {"mine": True}).status_code == 404


def test_a_sent_text_that_is_replaced_is_measured_again(pearl: Any, ann: Any, draft: Any) -> None:
    ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"})
    with pearl.database.write() as connection:
        user_id = users.ensure(connection, {"ann"})["ann"].id
        document = Document(draft["id"], "No, I keep mine; swap with Bea.", None, "May I swap?", "email")
        documents.add(connection, [documents.Addition(user_id, document, replaces=True)])
    mark = ann.get(f"/v1/documents/{draft['id']}").json()["sent_draft"]
    assert (mark["machine_share"], mark["sample"]) == (pytest.approx(1 / 7), True)
    assert samples(ann) == [draft["id"]]
