from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from service.store import calibrations
from service.store.calibrations import CalibrationKey, StoredCalibration


def test_make_change_list_and_delete(pearl: Any, ann: Any) -> None:
    ann.post("/v1/documents", [{"id": "a", "text": "Mail.", "voice": "email"}, {"id": "b", "text": "Other."}])
    made = ann.put("/v1/voices/blog", {"template": "post", "k": 3})
    assert made.status_code == 201
    assert made.json() == {
        "name": "blog",
        "object": "voice",
        "instructions": "",
        "template": "post",
        "k": 3,
        "documents": 0,
        "local_only": False,
        "edges": True,
    }
    changed = ann.put("/v1/voices/email", {"instructions": "British spelling."})
    assert (changed.status_code, changed.json()["documents"]) == (200, 1)
    again = ann.put("/v1/voices/email", {"template": "message"}).json()
    assert (again["instructions"], again["template"]) == ("British spelling.", "message")  # the rest stays
    assert [voice["name"] for voice in ann.get("/v1/voices").json()["data"]] == ["blog", "email"]
    assert ann.put("/v1/voices/blog", {"k": None}).json()["k"] is None
    assert ann.delete("/v1/voices/email").status_code == 204
    assert [voice["name"] for voice in ann.get("/v1/voices").json()["data"]] == ["blog"]
    assert ann.get("/v1/documents/a").json()["voice"] is None  # the document stays
    assert ann.delete("/v1/voices/email").json()["error"]["code"] == "voice_not_found"


@pytest.mark.parametrize(
    ("name", "body", "param"),
    [
        ("a", {"template": "sonnet"}, "template"),
        ("a", {"template": "_frame"}, "template"),
        ("a", {"template": "../secrets"}, "template"),
        ("a", {"k": 0}, "k"),
        ("a", {"k": 21}, "k"),
        ("a", {"instructions": "\0"}, "instructions"),
        ("a", {"instructions": None}, "instructions"),
        ("a", {"name": "b"}, "name"),
        ("a", {"colour": "blue"}, "colour"),
        ("pearl", {}, "name"),
        ("x" * 201, {}, "name"),
        ("%00", {}, "name"),
        ("%20", {}, "name"),
    ],
)
def test_a_voice_that_cannot_be(pearl: Any, ann: Any, name: str, body: Any, param: str) -> None:
    answer = ann.put(f"/v1/voices/{name}", body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)
    assert pearl.rows("voices") == []


@pytest.mark.parametrize("name", ["work/mail", "Büro ☃"])
def test_names_of_any_printable_kind(ann: Any, name: str) -> None:
    assert ann.put(f"/v1/voices/{name}", {}).json()["name"] == name
    assert ann.get(f"/v1/models/{name}").json()["id"] == name
    assert ann.delete(f"/v1/voices/{name}").status_code == 204


def test_voices_are_their_owners(pearl: Any, ann: Any) -> None:
    ben = pearl.as_user("ben")
    ben.put("/v1/voices/email", {"instructions": "Ben's."})
    assert ann.get("/v1/voices").json()["data"] == []
    assert ann.delete("/v1/voices/email").status_code == 404
    assert ann.post("/v1/drafts", {"request": "a", "voice": "email"}).status_code == 404
    ann.put("/v1/voices/email", {"instructions": "Ann's."})
    assert ben.get("/v1/voices").json()["data"][0]["instructions"] == "Ben's."


def test_a_voice_shows_its_calibrations_and_the_whole_history_its_own(pearl: Any) -> None:
    pearl.voice("ann", "email")
    pearl.add("ann", "A text.")
    key = CalibrationKey("email", pearl.services.histories.retriever.fingerprint, "fake")
    owner = pearl.user("ann")
    with pearl.database.write() as connection:
        for number, combination in enumerate((key, replace(key, model="another"), replace(key, voice=None))):
            made = StoredCalibration(f"c{number}", combination, {"threshold": "all"}, {"texts": 30}, 10.0 + number)
            calibrations.put(connection, owner.id, made)
    ann = pearl.as_user("ann")
    email, whole = ann.get("/v1/voices/email").json(), ann.get("/v1/voices/pearl").json()
    assert (email["name"], whole["name"], whole["documents"]) == ("email", "pearl", 1)
    assert [(each["id"], each["in_use"]) for each in email["calibrations"]] == [("c1", False), ("c0", True)]
    assert [each["id"] for each in whole["calibrations"]] == ["c2"]
    assert email["calibrations"][1]["settings"] == {"threshold": "all"}
    assert ann.get("/v1/voices/none").status_code == 404
    assert pearl.as_user("ben").get("/v1/voices/email").status_code == 404
    for route, asked in (
        ("chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
        ("responses", {"input": "x"}),
    ):
        decided_by = ann.post(f"/v1/{route}", {"model": "email", **asked}).json()["pearl"]["calibration"]
        assert (decided_by["code"], decided_by["id"]) == ("calibrated", "c0")
    assert len(ann.get("/v1/export").json()["calibrations"]) == 3
    assert ann.delete("/v1/voices/email").status_code == 204
    assert [each.id for each in pearl.rows("calibrations")] == ["c2"]
    assert ann.delete("/v1/me").status_code == 204
    assert pearl.rows("calibrations") == []


@pytest.mark.parametrize(
    ("method", "path", "param"),
    [
        ("GET", "/v1/voices/nowhere", "name"),
        ("DELETE", "/v1/voices/nowhere", "name"),
        ("GET", "/v1/documents?voice=nowhere", "voice"),
        ("GET", "/v1/profile?voice=nowhere", "voice"),
    ],
)
def test_an_unknown_voice_is_named_by_its_parameter(pearl: Any, method: str, path: str, param: str) -> None:
    answer = pearl.as_user("ann")(method, path)
    assert (answer.status_code, answer.json()["error"]["param"]) == (404, param)


@pytest.mark.parametrize(
    ("method", "path", "body"), [("DELETE", "/v1/voices/pearl", None), ("DELETE", "/v1/documents?voice=pearl", None)]
)
def test_the_whole_history_is_no_voice_to_delete(pearl: Any, method: str, path: str, body: Any) -> None:
    answer = pearl.as_user("ann")(method, path, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "voice_not_found")
    assert answer.json()["error"]["message"] == "'pearl' is the whole history and no voice; leave the voice out for it."


def test_the_name_of_the_whole_history_asks_for_a_draft_from_it(pearl: Any) -> None:
    pearl.add("ann", "Kettle's on.")
    draft = pearl.as_user("ann").post("/v1/drafts", {"request": "write", "voice": "pearl"})
    assert (draft.status_code, [shown["id"] for shown in draft.json()["retrieval"]["documents"]]) == (200, ["d1"])
    assert pearl.as_user("ann").get(f"/v1/drafts/{draft.json()['id']}").json()["voice"] is None


def test_standing_instructions_have_a_limit(pearl: Any, ann: Any) -> None:
    assert ann.put("/v1/voices/email", {"instructions": "ä" * 20_000}).status_code == 201
    answer = ann.put("/v1/voices/email", {"instructions": "x" * 20_001})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "text_too_large")
    assert answer.json()["error"]["param"] == "instructions"
    assert answer.json()["error"]["message"].startswith("'instructions' has 20,001 characters; the limit of standing")
