from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

SECRET = "the heron ate my brake cable"


def test_a_document_is_shown_with_its_language(ann: Any) -> None:
    german = "Kannst du am Samstag die lange Leiter mitbringen?"
    ann.post("/v1/documents", [{"id": "a", "text": german}, {"id": "b", "text": "ok"}])
    assert ann.get("/v1/documents/a").json()["language"] == "de"
    assert "language" not in ann.get("/v1/documents/b").json()


def test_add_one(ann: Any) -> None:
    answer = ann.post("/v1/documents", {"id": "a", "text": "Kettle's on.", "request": "When?", "voice": "email"})
    assert answer.status_code == 201
    assert answer.json() == {
        "object": "list",
        "data": [{"id": "a", "object": "document", "status": "created"}],
        "created": 1,
        "existing": 0,
    }
    kept = ann.get("/v1/documents/a").json()
    assert abs(kept.pop("timestamp") - time.time()) < 60
    assert kept.pop("language") == "en"
    assert kept == {"id": "a", "object": "document", "text": "Kettle's on.", "request": "When?", "voice": "email"}
    assert [voice["name"] for voice in ann.get("/v1/voices").json()["data"]] == ["email"]


@pytest.mark.parametrize("wrap", [lambda lines: lines, lambda lines: {"documents": lines}], ids=["array", "object"])
def test_add_several(ann: Any, wrap: Callable[[Any], Any]) -> None:
    lines = [{"text": "One.", "timestamp": 1}, {"id": 7, "text": "Two.", "timestamp": "2024-02-08T08:12:00Z"}]
    answer = ann.post("/v1/documents", wrap(lines)).json()
    assert answer["created"] == 2
    made_up, given = (entry["id"] for entry in answer["data"])
    assert made_up.startswith("doc_")
    assert given == "7"  # a number is a name too
    assert ann.get("/v1/documents/7").json()["timestamp"] == 1707379920.0


def test_a_thousand_but_not_one_more(ann: Any) -> None:
    lines = [{"id": f"d{number}", "text": f"Text {number}."} for number in range(1001)]
    refused = ann.post("/v1/documents", {"documents": lines})
    assert refused.status_code == 422
    assert refused.json()["error"]["param"] == "documents"
    assert ann.post("/v1/documents", lines).status_code == 422
    assert ann.post("/v1/documents", lines[:1000]).json()["created"] == 1000
    assert ann.post("/v1/documents", {"documents": lines[:1000]}).json()["existing"] == 1000


@pytest.mark.parametrize("empty", [[], {"documents": []}])
def test_none_at_all(ann: Any, empty: Any) -> None:
    assert ann.post("/v1/documents", empty).status_code == 422


def test_the_same_again_does_nothing(pearl: Any, ann: Any) -> None:
    line = {"id": "a", "text": "Kettle's on.", "voice": "email"}
    first = ann.post("/v1/documents", line)
    again = ann.post("/v1/documents", line)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["data"][0]["status"] == "exists"
    assert len(pearl.rows("documents")) == 1


def test_the_same_id_with_another_text_is_a_conflict_and_nothing_is_added(ann: Any) -> None:
    ann.post("/v1/documents", {"id": "a", "text": "The first."})
    answer = ann.post("/v1/documents", [{"id": "b", "text": "New."}, {"id": "a", "text": "Another."}])
    assert answer.status_code == 409
    assert answer.json()["error"] == {
        "message": "1 of the documents are there already with other content, which stays: a. Nothing was added.",
        "type": "conflict_error",
        "param": "id",
        "code": "document_exists",
    }
    assert ann.get("/v1/documents/a").json()["text"] == "The first."
    assert ann.get("/v1/documents/b").status_code == 404


def test_what_the_body_says_of_the_user_is_not_read(pearl: Any, ann: Any) -> None:
    ben = pearl.as_user("ben")
    ann.post("/v1/documents", {"id": "a", "text": "Mine.", "user_id": "ben"})
    assert ann.get("/v1/documents/a").status_code == 200
    assert ben.get("/v1/documents/a").status_code == 404
    assert ben.get("/v1/documents").json()["data"] == []


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 20])
def test_pages_over_equal_times(ann: Any, limit: int, order: str) -> None:
    times = [5.0, 5.0, 5.0, 1.0, 9.0, 5.0, 5.0]
    ann.post("/v1/documents", [{"id": f"d{n}", "text": f"T{n}.", "timestamp": at} for n, at in enumerate(times)])
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = ann.get("/v1/documents", params={"limit": limit, "order": order, **after}).json()
        ids = [document["id"] for document in page["data"]]
        assert (page["first_id"], page["last_id"]) == (ids[0], ids[-1])
        seen += ids
        if not page["has_more"]:
            break
        assert len(ids) == limit
        after = {"after": page["last_id"]}
    oldest_first = ["d3", "d0", "d1", "d2", "d5", "d6", "d4"]
    assert seen == (oldest_first if order == "asc" else oldest_first[::-1])


def test_the_documents_of_a_voice_and_of_all(ann: Any) -> None:
    ann.post("/v1/documents", [{"id": "a", "text": "Tea.", "voice": "email"}, {"id": "b", "text": "More tea."}])

    def listed(voice: str) -> set[str]:
        return {document["id"] for document in ann.get("/v1/documents", params={"voice": voice}).json()["data"]}

    assert (listed("email"), listed("pearl")) == ({"a"}, {"a", "b"})


def test_an_empty_page(ann: Any) -> None:
    assert ann.get("/v1/documents").json() == {
        "object": "list",
        "data": [],
        "has_more": False,
        "first_id": None,
        "last_id": None,
    }


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"order": "up"}, "order"),
        ({"after": "nobody"}, "after"),
        ({"after": "a\0b"}, "after"),
    ],
)
def test_a_page_that_cannot_be(ann: Any, params: Any, param: str) -> None:
    answer = ann.get("/v1/documents", params=params)
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)


def test_another_users_document_is_not_there(pearl: Any, ann: Any) -> None:
    ben = pearl.as_user("ben")
    ben.post("/v1/documents", {"id": "b", "text": "Ben's."})
    for answer in (ann.get("/v1/documents/b"), ann.delete("/v1/documents/b")):
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "document_not_found"
    assert ann.get("/v1/documents", params={"after": "b"}).status_code == 422
    assert ben.get("/v1/documents/b").status_code == 200


@pytest.mark.parametrize("name", ["a/b", "ü ☃", "50%", "a?b#c", "..", "drafts"])
def test_ids_of_any_printable_kind(ann: Any, name: str) -> None:
    from urllib.parse import quote

    ann.post("/v1/documents", {"id": name, "text": "Text."})
    path = f"/v1/documents/{quote(name, safe='')}"
    if name == "..":  # which clients resolve
        path = "/v1/documents/%2E%2E"
    assert ann.get(path).json().get("id", name) == name
    assert ann.delete(path).status_code in (204, 404 if name == ".." else 204)


def test_deleted_is_gone_from_the_files_too(pearl: Any, ann: Any) -> None:
    ann.post("/v1/documents", [{"id": "a", "text": SECRET, "request": f"why: {SECRET}"}, {"id": "b", "text": "Other."}])
    ann.post("/v1/drafts", {"request": "brake"})  # embeds and caches
    assert pearl.on_disk(SECRET)
    vectors = len(pearl.rows("embeddings"))
    assert vectors == 2
    assert ann.delete("/v1/documents/a").status_code == 204
    assert not pearl.on_disk(SECRET)
    assert len(pearl.rows("embeddings")) == 1
    assert ann.get("/v1/documents/a").status_code == 404
    assert ann.delete("/v1/documents/a").status_code == 404
    shown = ann.post("/v1/drafts", {"request": "brake"}).json()["retrieval"]["documents"]
    assert [document["id"] for document in shown] == ["b"]
    assert SECRET not in str(pearl.model.calls[-1])


def test_a_deleted_document_that_feedback_made_takes_its_draft_along(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append(SECRET)
    draft = ann.post("/v1/drafts", {"request": "brake"}).json()
    sent = ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"}).json()
    assert ann.delete(f"/v1/documents/{sent['document_id']}").status_code == 204
    assert not pearl.on_disk(SECRET)
    assert (pearl.rows("drafts"), pearl.rows("feedback")) == ([], [])


BAD = [
    ({"text": ""}, "text", "empty_text"),
    ({"text": " \n\t"}, "text", "empty_text"),
    ({"text": "a\0b"}, "text", "nul_character"),
    ({"text": 5}, "text", "string_type"),
    ({"text": None}, "text", "string_type"),
    ({"text": ["a"]}, "text", "string_type"),
    ({}, "text", "missing"),
    ({"text": "a", "id": ""}, "id", "invalid_id"),
    ({"text": "a", "id": "x" * 201}, "id", "invalid_id"),
    ({"text": "a", "id": "tab\there"}, "id", "invalid_id"),
    ({"text": "a", "id": " a"}, "id", "invalid_id"),
    ({"text": "a", "voice": "pearl"}, "voice", "invalid_value"),  # no draft could be asked of such a voice
    ({"text": "a", "id": True}, "id", "wrong_type"),
    ({"text": "a", "id": {}}, "id", "wrong_type"),
    ({"text": "a", "voice": "\0"}, "voice", "invalid_id"),
    ({"text": "a", "voice": 1.5}, "voice", "wrong_type"),
    ({"text": "a", "request": 1}, "request", "string_type"),
    ({"text": "a", "request": "\0"}, "request", "nul_character"),
    ({"text": "a", "timestamp": "yesterday"}, "timestamp", "invalid_timestamp"),
    ({"text": "a", "timestamp": True}, "timestamp", "wrong_type"),
    ({"text": "a", "timestamp": []}, "timestamp", "wrong_type"),
    ({"text": "a", "timestamp": 1_707_379_920_000}, "timestamp", "invalid_timestamp"),  # milliseconds
    ({"text": "a", "timestamp": 10**300}, "timestamp", "invalid_timestamp"),
    ({"text": "a", "timestamp": 4_000_000_000}, "timestamp", "future_timestamp"),
    ({"text": "a", "timestamp": "2999-01-01T00:00:00Z"}, "timestamp", "future_timestamp"),
    ({"text": "a", "colour": "blue"}, "colour", "extra_forbidden"),
    ({"text": "a", "list": 1}, "list", "extra_forbidden"),
]


@pytest.mark.parametrize(("line", "param", "code"), BAD, ids=lambda value: str(value)[:40])
def test_a_bad_document_is_named_by_its_place(pearl: Any, ann: Any, line: Any, param: str, code: str) -> None:
    good = {"id": "good", "text": "Good."}
    for body, place in (
        (line, param),
        ([good, line], f"1.{param}"),
        ({"documents": [good, good, good, line]}, f"documents.3.{param}"),
    ):
        answer = ann.post("/v1/documents", body)
        error = answer.json()["error"]
        assert (answer.status_code, error["type"]) == (422, "invalid_request_error")
        assert (error["param"], error["code"]) == (place, code)
    assert pearl.rows("documents") == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have(ann: Any, number: str) -> None:
    answer = ann.post(
        "/v1/documents", content=f'{{"text": "a", "timestamp": {number}}}', headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")


@pytest.mark.parametrize("body", ['"text"', "5", "null", "true", "[5]", '{"documents": 5}', '{"documents": [[]]}'])
def test_a_body_of_another_shape(ann: Any, body: str) -> None:
    answer = ann.post("/v1/documents", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_half_a_surrogate_pair(ann: Any) -> None:
    content = json.dumps({"text": "half: \ud83d"})
    answer = ann.post("/v1/documents", content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_unicode")


def test_a_text_of_a_megabyte_is_the_most(ann: Any) -> None:
    assert ann.post("/v1/documents", {"text": "x" * 1_000_000}).status_code == 201
    answer = ann.post("/v1/documents", [{"text": "a"}, {"text": "ü" * 500_001}])
    assert answer.status_code == 413
    assert answer.json()["error"] == {
        "message": "'1.text' has 1,000,002 bytes; the limit is 1,000,000. Split it into several.",
        "type": "invalid_request_error",
        "param": "1.text",
        "code": "text_too_large",
    }


def test_binary_bodies(ann: Any) -> None:
    packed = gzip.compress(b'{"text": "a"}')
    for headers in ({"Content-Type": "application/json"}, {"Content-Type": "application/octet-stream"}):
        answer = ann.post("/v1/documents", content=packed, headers=headers)
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("wrap", [list, lambda given: {"documents": given}])
def test_an_id_twice_in_one_body(ann: Any, wrap: Any) -> None:
    """Nothing is there yet, so the message must not say so; the same document twice is one."""
    given = [{"id": "a", "text": "One."}, {"id": "b", "text": "Two."}, {"id": "a", "text": "Three."}]
    answer = ann.post("/v1/documents", wrap(given))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (409, "duplicate_id", "id")
    assert "'a' stands twice in this body, at 0 and 2" in error["message"]
    assert ann.get("/v1/documents").json()["data"] == []
    again = ann.post("/v1/documents", wrap([given[0], given[1], given[0]])).json()
    assert (again["created"], again["existing"]) == (2, 1)


MACHINE = (
    "I hope this email finds you well. I wanted to reach out about the rails. Thank you for your patience and "
    "understanding. Please don't hesitate to contact me."
)


def test_a_text_of_an_assistant_is_told_when_it_is_added(pearl: Any) -> None:
    ann = pearl.as_user("ann")
    texts = [
        {"id": "a", "text": MACHINE},
        {"id": "b", "text": f"Again: {MACHINE}", "mine": True},
        {"id": "c", "text": "T."},
    ]
    added = ann.post("/v1/documents", {"documents": texts}).json()["data"]
    assert [each.get("set_apart") for each in added] == ["machine_prose", None, None]
    assert [each.get("set_apart") for each in ann.get("/v1/documents?order=asc").json()["data"]] == [
        "machine_prose",
        None,
        None,
    ]
    assert [each["id"] for each in ann.get("/v1/documents?set_apart=true").json()["data"]] == ["a"]
    assert pearl.as_user("bob").get("/v1/documents?set_apart=true").json()["data"] == []
    assert ann.get("/v1/documents/a").json()["set_apart"] == "machine_prose"
    kept = ann("PATCH", "/v1/documents/a", {"mine": True})
    assert (kept.status_code, kept.json().get("set_apart")) == (200, None)
    assert ann("PATCH", "/v1/documents/a", {"mine": "maybe"}).status_code == 422
