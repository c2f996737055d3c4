"""Some of a history: of a voice, with some words, of an import; and a document's voice."""

from __future__ import annotations

from typing import Any

import pytest

from pearl.records import Document
from service.store import documents, imports
from service.store.documents import Addition


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.add(
        "ann",
        Document("a", "Grüße aus KÖLN", 1.0, "How is it?", "email"),
        Document("b", "The kettle is on, 100% sure.", 2.0, None, "email"),
        Document("c", "On: no kettle; under_score.", 3.0, "kettle?", "blog"),
        Document("d", "100 of them", 4.0),
    )
    return pearl.as_user("ann")


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["data"]]


def test_of_one_voice(ann: Any) -> None:
    assert ids(ann.get("/v1/documents", params={"voice": "email"})) == ["b", "a"]
    unknown = ann.get("/v1/documents", params={"voice": "emial"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "voice_not_found")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("köln", ["a"]),
        ("GRÜSSE", ["a"]),
        ("kettle", ["c", "b"]),
        ("kettle  on", ["c", "b"]),
        ("100%", ["b"]),
        ("r_s", ["c"]),
        ("100", ["d", "b"]),
        ("%", ["b"]),
        ("How", []),
    ],
)
def test_texts_that_contain_the_words(ann: Any, query: str, found: list[str]) -> None:
    assert ids(ann.get("/v1/documents", params={"query": query})) == found


def test_pages_of_what_is_found(pearl: Any) -> None:
    pearl.add("ben", *(f"Text {number}, {'odd' if number % 2 else 'even'}." for number in range(450)))
    ben = pearl.as_user("ben")
    found, after = [], None
    while True:
        params = {"query": "odd", "limit": 100} | ({"after": after} if after else {})
        page = ben.get("/v1/documents", params=params).json()
        found += page["data"]
        if not page["has_more"]:
            break
        after = page["last_id"]
    assert len(found) == len({each["id"] for each in found}) == 225


@pytest.mark.parametrize("params", [{"query": ""}, {"query": " "}, {"voice": ""}])
def test_empty_choices(ann: Any, params: dict[str, str]) -> None:
    answer = ann.get("/v1/documents", params=params)
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, next(iter(params)))


def test_another_voice(ann: Any) -> None:
    changed = ann("PATCH", "/v1/documents/a", {"voice": "letters"})
    assert (changed.status_code, changed.json()["voice"], changed.json()["text"]) == (200, "letters", "Grüße aus KÖLN")
    assert {voice["name"]: voice["documents"] for voice in ann.get("/v1/voices").json()["data"]} == {
        "email": 1,
        "blog": 1,
        "letters": 1,
    }
    assert ann("PATCH", "/v1/documents/a", {"voice": None}).json()["voice"] is None
    # the source knows nothing of it, so what it sends again is no conflict
    again = ann.post("/v1/documents", {"id": "a", "text": "Grüße aus KÖLN", "request": "How is it?", "voice": "email"})
    assert (again.status_code, again.json()["existing"]) == (200, 1)


def test_a_draft_sees_the_change(pearl: Any, ann: Any) -> None:
    ann.post("/v1/drafts", {"request": "kettle", "voice": "blog"})
    ann("PATCH", "/v1/documents/b", {"voice": "blog"})
    shown = ann.post("/v1/drafts", {"request": "kettle", "voice": "blog", "k": 5}).json()["retrieval"]["documents"]
    assert {each["id"] for each in shown} == {"b", "c"}


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({}, 422, "voice"),
        ({"voice": ""}, 422, "voice"),
        ({"voice": "pearl"}, 422, "voice"),
        ({"text": "Other."}, 422, None),
        ({"voice": "x", "text": "Other."}, 422, "text"),
    ],
)
def test_changes_that_cannot_be(ann: Any, body: Any, status: int, param: str | None) -> None:
    answer = ann("PATCH", "/v1/documents/a", body)
    assert answer.status_code == status
    assert param is None or answer.json()["error"]["param"] == param


def test_only_ones_own_documents(pearl: Any, ann: Any) -> None:
    assert pearl.as_user("ben")("PATCH", "/v1/documents/a", {"voice": "x"}).status_code == 404


def test_delete_a_voices_documents(pearl: Any, ann: Any) -> None:
    answer = ann("DELETE", "/v1/documents", params={"voice": "email"})
    assert answer.status_code == 200
    assert answer.json() == {"object": "deletion", "deleted": 2, "kept": 0, "status": "deleted"}
    assert ids(ann.get("/v1/documents")) == ["d", "c"]
    assert "email" in [voice["name"] for voice in ann.get("/v1/voices").json()["data"]]
    assert not pearl.on_disk("The kettle is on")
    assert ann("DELETE", "/v1/documents", params={"voice": "emial"}).status_code == 404


def test_delete_what_an_import_brought(pearl: Any, ann: Any) -> None:
    with pearl.database.write() as connection:
        user_id = connection.exec_driver_sql("SELECT id FROM users WHERE name = 'ann'").scalar()
        brought = [Document("x", "Brought.", 5.0, None, "blog"), Document("y", "Changed.", 6.0)]
        documents.add(connection, [Addition(user_id, each, "import_1") for each in brought])
        note = imports.ImportNote("import_1", user_id, {"imported": 2})
        imports.record(connection, [note], importer="fake", source="/")
    ann("PATCH", "/v1/documents/y", {"voice": "blog"})
    assert pearl.as_user("ben")("DELETE", "/v1/documents", params={"import": "import_1"}).status_code == 404
    answer = ann("DELETE", "/v1/documents", params={"import": "import_1"})
    assert (answer.json()["deleted"], answer.json()["kept"]) == (1, 1)
    assert ids(ann.get("/v1/documents")) == ["y", "d", "c", "b", "a"]
    again = ann("DELETE", "/v1/documents", params={"import": "import_1"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "import_undone")


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("/v1/documents", {}, 422),
        ("/v1/documents/", {}, 422),
        ("/v1/documents", {"voice": ""}, 422),
        ("/v1/documents", {"import": ""}, 422),
        ("/v1/documents", {"voice": "email", "import": "x"}, 422),
        ("/v1/documents", {"voices": "email"}, 422),
        ("/v1/documents", {"import": "import_9"}, 404),
    ],
)
def test_never_everything_by_accident(ann: Any, path: str, params: dict[str, str], status: int) -> None:
    answer = ann("DELETE", path, params=params)
    assert answer.status_code == status, answer.text
    assert len(ids(ann.get("/v1/documents"))) == 4
