from __future__ import annotations

from typing import Any

import httpx
import pytest

from pearl.errors import ChatInterrupted, ChatRejected
from service.store import keys
from service.store.keys import KeyTerms, until_tomorrow
from tests.fake_chat import FakeChatModel

ASKED = [{"role": "user", "content": "Ask for the kettle"}]
TITLE = [
    {"role": "user", "content": "Ask for the kettle"},
    {"role": "assistant", "content": "Kettle, please."},
    {"role": "user", "content": "Generate a concise title for this chat. Answer with only the title, no quotes."},
]
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
ROUTES = {
    "drafts": ("/v1/drafts", {"request": "Ask for the kettle"}),
    "streamed": ("/v1/drafts", {"request": "Ask for the kettle", "stream": True}),
    "variants": ("/v1/drafts", {"request": "Ask for the kettle", "variants": 3}),
    "revised": ("/v1/drafts", {"request": "Ask for the kettle", "revise": "always"}),
    "completions": ("/v1/chat/completions", {"messages": ASKED}),
    "streamed completions": ("/v1/chat/completions", {"messages": ASKED, "stream": True}),
    "own task": ("/v1/chat/completions", {"messages": TITLE}),
    "responses": ("/v1/responses", {"input": "Ask for the kettle"}),
    "messages": ("/v1/messages", {"messages": ASKED, "max_tokens": 100}),
    "ollama": ("/api/chat", {"messages": ASKED}),
    "mcp": ("/mcp", {**CALL, "params": {"name": "draft", "arguments": {"request": "Ask for the kettle"}}}),
}


def key_with(house: Any, tokens: int | None) -> Any:
    with house.database.write() as connection:
        key = keys.create_for_user(connection, "ann", terms=KeyTerms(tokens_per_day=tokens))
    return {"Authorization": f"Bearer {key}"}


def spent(house: Any) -> int | None:
    with house.database.read() as connection:
        return keys.list_all(connection)[0].tokens_today


def asked_for(model: FakeChatModel) -> int:
    return sum(model.count_tokens(message.content) for messages, _ in model.calls for message in messages)


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_counts_and_is_refused_when_it_is_used_up(house, route):
    at = house(FakeChatModel(["Kettle, please.", "The kettle, please.", "May I have the kettle?"]))
    model, headers, (path, body) = at.model, key_with(at, 20), ROUTES[route]
    answer = at.client.post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert len(model.calls) == {"variants": 3, "revised": 2}.get(route, 1)
    written = spent(at) - asked_for(model)
    assert 0 < written <= 30
    calls = len(model.calls)
    refused = at.client.post(path, json=body, headers=headers)
    assert len(model.calls) == calls
    if route != "mcp":  # there it is a tool's result
        assert refused.status_code == 429
        assert 0 <= int(refused.headers["retry-after"]) - until_tomorrow() + 1 < 60
    assert "midnight UTC" in refused.text
    assert "token_budget_exceeded" in refused.text


def test_other_keys_and_other_calls_go_on(house):
    at = house()
    headers = key_with(at, 1)
    assert at.client.post("/v1/drafts", json={"request": "x"}, headers=headers).status_code == 200
    assert at.client.post("/v1/drafts", json={"request": "x"}, headers=headers).status_code == 429
    assert at.client.get("/v1/voices", headers=headers).status_code == 200
    assert at.as_user("ann").post("/v1/drafts", {"request": "x"}).status_code == 200
    with at.database.read() as connection:
        assert keys.list_all(connection)[1].tokens_today is None


def test_a_repeated_call_takes_nothing(house):
    at = house()
    headers = {**key_with(at, 1), "Idempotency-Key": "one"}
    first, again = (at.client.post("/v1/drafts", json={"request": "x"}, headers=headers) for _ in range(2))
    assert first.json()["text"] == again.json()["text"]
    assert len(at.model.calls) == 1


@pytest.mark.parametrize(
    ("reply", "takes"),
    [(ChatRejected("no"), False), (("Kettle, ", ChatInterrupted("gone")), True)],
    ids=["refused", "broken off"],
)
def test_failed_drafts_count_what_was_read_and_written(house, reply, takes):
    at = house(FakeChatModel([reply]))
    headers = key_with(at, 10**6)
    assert at.client.post("/v1/drafts", json={"request": "x"}, headers=headers).status_code == 502
    assert (spent(at) >= asked_for(at.model)) is takes
    assert bool(spent(at)) is takes


def test_a_draft_whose_reader_leaves_counts(listen, silent_model, until):
    model = silent_model(["Kettle, ", "please. "])
    at = listen(model)
    body, headers = {"request": "x", "stream": True}, key_with(at.house, 10**6)
    with httpx.stream("POST", f"{at.address}/v1/drafts", json=body, headers=headers, timeout=120):
        assert model.asked.wait(120)
    assert model.stopped.wait(120)
    until(lambda: spent(at.house) > 2)
