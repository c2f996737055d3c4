"""A client that goes away before its answer is ready: the generation stops and nothing is recorded."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from service.histories.embedding import AT_ONCE

DRAFT = ("/v1/drafts", {"request": "write"})
CHAT = ("/v1/chat/completions", {"model": "pearl", "messages": [{"role": "user", "content": "write"}]})
TOOL = {"name": "draft", "arguments": {"request": "write"}}
MCP = ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": TOOL})
RESPONSE = ("/v1/responses", {"model": "pearl", "input": "write"})
MESSAGES = ("/v1/messages", CHAT[1])
OLLAMA = ("/api/chat", {**CHAT[1], "stream": False})


def leave(served: Any, model: Any, path: str, body: Any) -> None:
    """Ask, and hang up as soon as the model has been asked."""
    address = urlsplit(served.address)
    content = json.dumps(body).encode()
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {served.house.key('ann')}\r\nContent-Length: {len(content)}\r\n\r\n".encode()
            + content
        )
        assert model.asked.wait(60)


@pytest.mark.parametrize(("path", "body"), [DRAFT, CHAT, RESPONSE, MESSAGES, OLLAMA, MCP])
def test_leaving_a_plain_request_stops_the_generation(
    listen: Any, silent_model: Any, until: Any, path: str, body: Any
) -> None:
    model = silent_model()
    served = listen(model)
    leave(served, model, path, body)
    assert model.stopped.wait(60)
    assert served.house.rows("drafts") == []


@pytest.mark.parametrize("words", [(), ("some ", "words ")], ids=["before-the-first-word", "after-some-words"])
@pytest.mark.parametrize("revise", ["never", "always"])
@pytest.mark.parametrize(("path", "body"), [DRAFT, CHAT, RESPONSE, MESSAGES, OLLAMA])
def test_leaving_a_stream_stops_the_generation(
    listen: Any, silent_model: Any, path: str, body: Any, revise: str, words: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.http.api.streaming.KEEP_ALIVE_S", 0.05)
    model = silent_model(words)
    served = listen(model)
    body = {**body, "stream": True, **({"revise": revise} if path == "/v1/drafts" else {})}
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    with (
        httpx2.Client(base_url=served.address, headers=headers, timeout=60) as client,
        client.stream("POST", path, json=body) as answer,
    ):
        lines = answer.iter_lines()  # named, for it hangs up when it is collected
        for line in lines:
            if line == ": keep-alive" or (path == "/api/chat" and '"content":""' in line):  # nothing more comes
                break
        assert not model.stopped.is_set()
    assert model.stopped.wait(60)
    assert served.house.rows("drafts") == []


def test_leaving_a_ranking_stops_the_encoder(listen: Any, word_encoder: Any, until: Any) -> None:
    class Waiting(word_encoder):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.asked, self.go_on, self.texts = threading.Event(), threading.Event(), 0

        def encode_documents(self, texts: Any) -> Any:
            self.texts += len(texts)
            self.asked.set()
            assert self.go_on.wait(60)
            return super().encode_documents(texts)

    served, encoder = listen(retriever="dense"), Waiting()
    served.house.services.encoder = encoder
    leave(served, encoder, "/v1/rerank", {"query": "tide", "documents": [f"text {number}" for number in range(500)]})
    ranking = served.house.services.ranking
    until(lambda: ranking._inside == 0)  # the call is over, its thread is not
    assert ranking._seconds == 0
    encoder.go_on.set()
    until(lambda: ranking._seconds > 0)
    assert encoder.texts == AT_ONCE


def test_the_service_goes_on_after_clients_left(listen: Any, silent_model: Any) -> None:
    model = silent_model()
    served = listen(model)
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    with httpx2.Client(base_url=served.address, headers=headers, timeout=60) as client:
        for _ in range(3):
            leave(served, model, *DRAFT)
            assert model.stopped.wait(60)
            model.asked.clear()
            model.stopped.clear()
        model.go_on.set()
        assert client.post("/v1/drafts", json=DRAFT[1]).json()["text"] == "the end"
    assert len(served.house.rows("drafts")) == 1
