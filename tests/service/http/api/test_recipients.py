"""The recipient and the thread of a text, from the request for a draft to the document that was sent."""

from __future__ import annotations

from typing import Any

import pytest

RAILS = {"recipient": "nan@example.org", "thread": "rails"}


def kept(answer: Any) -> dict[str, Any]:
    return {name: answer.get(name) for name in RAILS}


def test_documents_keep_them_and_give_them_back(ann: Any) -> None:
    document = {"id": "a", "text": "Rails?", "recipient": "Nan <NAN@example.org>", "thread": "rails"}
    assert ann.post("/v1/documents", [document, {"id": "b", "text": "Other."}]).status_code == 201
    assert kept(ann.get("/v1/documents/a").json()) == RAILS
    assert not RAILS.keys() & ann.get("/v1/documents/b").json().keys()
    assert ann.post("/v1/documents", {"id": "a", "text": "Rails?"}).json()["existing"] == 1
    exported = ann.get("/v1/export").json()["documents"]
    assert [kept(line) for line in exported] == [RAILS, dict.fromkeys(RAILS)]


def test_the_sent_text_has_those_of_its_draft(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append("They are ready.")
    draft = ann.post("/v1/drafts", {"request": "rails", **RAILS}).json()
    assert kept(ann.get(f"/v1/drafts/{draft['id']}").json()) == RAILS
    ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "edited", "final_text": "Ready on Friday."})
    assert kept(ann.get(f"/v1/documents/{draft['id']}").json()) == RAILS


def test_a_line_of_the_system_message_says_them_to_a_chat(pearl: Any, ann: Any) -> None:
    system = "Be kind.\nrecipient: nan@example.org\nthread: rails"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "rails"}]
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": messages}).json()
    draft = ann.get(f"/v1/drafts/{answer['id']}").json()
    assert kept(draft) == RAILS
    assert draft["instructions"] == "Be kind."
    assert "recipient:" not in pearl.model.calls[0][0][-1].content


def test_a_draft_may_name_the_one_whom_it_is_for(pearl: Any, ann: Any) -> None:
    pearl.model.replies += ["It is ready. Ask Nan Pellow."] * 2
    claimed = [
        ann.post("/v1/drafts", {"request": "say that it is ready", "recipient": recipient}).json()["claims"]
        for recipient in (None, "Nan Pellow")
    ]
    assert [[claim["text"] for claim in claims] for claims in claimed] == [["Nan Pellow"], []]


@pytest.mark.parametrize("path", ["/v1/documents", "/v1/drafts"])
@pytest.mark.parametrize(
    ("addressed", "param", "code"),
    [
        ({"recipient": "a@x.org, b@x.org"}, "recipient", "several_recipients"),
        ({"recipient": "Nan <nobody>"}, "recipient", "invalid_recipient"),
        ({"recipient": "nan\nBcc: bob"}, "recipient", "invalid_id"),
        ({"recipient": "n" * 201}, "recipient", "invalid_id"),
        ({"recipient": ""}, "recipient", "invalid_id"),
        ({"thread": "t" * 201}, "thread", "invalid_id"),
        ({"thread": "a\tb"}, "thread", "invalid_id"),
        ({"thread": ["a"]}, "thread", "wrong_type"),
    ],
)
def test_what_cannot_be_kept_is_refused(ann: Any, path: str, addressed: Any, param: str, code: str) -> None:
    body = {"text": "Rails?"} if path == "/v1/documents" else {"request": "rails"}
    answer = ann.post(path, {**body, **addressed})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (422, param, code)
    assert param in error["message"]


def test_a_model_says_them_to_a_tool(ann: Any) -> None:
    call = {"name": "draft", "arguments": {"request": "rails", **RAILS}}
    made = ann.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).json()["result"]
    assert kept(ann.get(f"/v1/drafts/{made['structuredContent']['id']}").json()) == RAILS
