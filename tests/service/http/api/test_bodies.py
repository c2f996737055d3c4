"""The key before the body, limits before anything is built."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from pearl.errors import Overloaded
from service.http.api.bodies import LARGE, LIMITS, USUAL, LargeBodies
from tests.pieces import read_until

JSON = {"Content-Type": "application/json"}
BODIES = ["/v1/documents", "/v1/drafts", "/v1/feedback", "/v1/chat/completions", "/v1/responses", "/v1/rerank", "/mcp"]
FILLED: dict[str, Any] = {
    "/v1/documents": {"text": "a"},
    "/v1/drafts": {"request": "a"},
    "/v1/feedback": {"draft_id": "a", "outcome": "accepted"},
    "/v1/chat/completions": {"model": "pearl", "messages": [{"role": "user", "content": "a"}]},
    "/v1/responses": {"model": "pearl", "input": "a"},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    "/v1/rerank": {"query": "a", "documents": ["b"]},
}


class Wire:
    """One request to the application, piece by piece, with how much of it was asked for."""

    def __init__(self, app: Any, path: str, pieces: Iterator[bytes], headers: dict[str, str]) -> None:
        self.read = 0
        self.status = 0
        self._app, self._path, self._pieces = app, path, pieces
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def receive(self) -> dict[str, Any]:
        piece = next(self._pieces)
        self.read += len(piece)
        return {"type": "http.request", "body": piece, "more_body": True}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]

    def answer(self) -> int:
        scope = {"type": "http", "method": "POST", "path": self._path, "query_string": b"", "headers": self._headers}
        anyio.run(self._app, {**scope, "root_path": "", "http_version": "1.1"}, self.receive, self.send)
        return self.status


def endless(start: bytes, piece: bytes) -> Iterator[bytes]:
    yield start
    while True:
        yield piece * 10_000


@pytest.mark.parametrize("path", [*BODIES, "/v1/voices/a"])
def test_without_a_key_not_a_byte_of_the_body_is_read(pearl: Any, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer pearl_wrong"}):
        wire = Wire(pearl.app, path, endless(b'{"request":[', b"[],"), {**JSON, **headers})
        wire._path = path
        if path.startswith("/v1/voices"):
            assert pearl.client.put(path, content=b"{", headers={**JSON, **headers}).status_code == 401
        else:
            assert (wire.answer(), wire.read) == (401, 0)


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    ("piece", "status"),
    [(b"[],", 413), (b"0,", 413), (b'"a":0,', 413), (b'"",', 413), (b"]", 400), (b" ", 413), (b"1", 413)],
    ids=str,
)
def test_what_is_too_much_is_refused_while_it_arrives(pearl: Any, path: str, piece: bytes, status: int) -> None:
    headers = {"Authorization": f"Bearer {pearl.key('ann')}", **JSON}
    wire = Wire(pearl.app, path, endless(b'{"messages":[', piece), headers)
    assert wire.answer() == status
    most = LIMITS.get(path, USUAL).bytes
    assert wire.read <= most + 10_000 * len(piece)
    if piece not in (b" ", b"1"):
        assert wire.read <= 250_000


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "strange",
    [
        b'"\\ud800"',
        b'"\\udc00 \\ud800"',
        b'{"\\ud800": 1}',
        b"[" * 300 + b"]" * 300,
        b'{"a":' * 300 + b"1" + b"}" * 300,
        b"NaN",
        b"1e999",
        b"9" * 5000,
    ],
    ids=lambda value: value[:12].decode(),
)
def test_what_no_field_can_hold_is_refused_in_any_field(pearl: Any, path: str, strange: bytes) -> None:
    """In fields that are known, in those that are not, in items of lists: never an error of ours."""
    ann = pearl.as_user("ann")
    for field in [*FILLED[path], "unknown", "metadata"]:
        others = json.dumps({name: value for name, value in FILLED[path].items() if name != field})
        body = others[:-1].encode() + (b"," if len(others) > 2 else b"") + f'"{field}":'.encode() + strange + b"}"
        answer = ann.post(path, content=body, headers=JSON)
        assert 400 <= answer.status_code < 500, (field, answer.text)
        assert answer.json()["error"]["message"]
    nested = ann.put("/v1/voices/a", content=b'{"instructions": ' + strange + b"}", headers=JSON)
    assert 400 <= nested.status_code < 500


def test_a_body_as_large_as_texts_may_be_is_taken(pearl: Any) -> None:
    text = "é" * 499_000  # 1 MB, and three times that in the escapes of most clients
    answer = pearl.as_user("ann").post("/v1/documents", content=json.dumps({"text": text}).encode(), headers=JSON)
    assert answer.status_code == 201


def test_a_thousand_documents_are_taken_and_the_first_bad_one_is_named(pearl: Any) -> None:
    ann = pearl.as_user("ann")
    given = [{"id": str(number), "text": "a", "timestamp": number, "request": "b"} for number in range(1000)]
    assert ann.post("/v1/documents", {"documents": given}).json()["created"] == 1000
    given[700]["text"] = given[900]["text"] = ""
    assert ann.post("/v1/documents", {"documents": given}).json()["error"]["param"] == "documents.700.text"


def test_two_thousand_turns_are_taken(pearl: Any) -> None:
    turns = [
        {"role": ("user", "assistant")[number % 2], "content": [{"type": "text", "text": "a"}]}
        for number in range(2001)
    ]
    answer = pearl.as_user("ann").post("/v1/chat/completions", {"model": "pearl", "messages": turns})
    assert answer.status_code == 200


def test_few_large_bodies_are_held_at_once(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait for a place, and are told to come back when none comes free."""
    large = json.dumps({"documents": [{"text": "a" * (LARGE // 2)}] * 3}).encode()
    monkeypatch.setattr("service.http.api.bodies.READ_TIMEOUT_S", 1.0)  # half of it waiting for a place
    full = house()
    full.app.state.large_bodies = LargeBodies(0)
    ann = full.as_user("ann")
    answer = ann.post("/v1/documents", content=large, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
    assert int(answer.headers["retry-after"]) >= 1
    assert ann.post("/v1/documents", {"text": "a small one"}).status_code == 201
    monkeypatch.undo()
    pearl = house()
    pearl.app.state.large_bodies = LargeBodies(1)
    ann = pearl.as_user("ann")
    for _ in range(3):  # a place is given back, also after an error
        assert ann.post("/v1/documents", content=large, headers=JSON).status_code in (200, 201)
        assert ann.post("/v1/documents", content=large[:-1], headers=JSON).status_code == 400


def test_one_users_large_bodies_keep_nobody_else_waiting() -> None:
    async def enter(bodies: LargeBodies, user_id: int, stack: AsyncExitStack) -> bool:
        try:
            await bodies.enter(user_id, 0.01, stack)
        except Overloaded:
            return False
        return True

    async def both() -> tuple[list[bool], bool, bool]:
        bodies = LargeBodies(2)
        async with AsyncExitStack() as stack:
            anns = [await enter(bodies, 1, stack) for _ in range(5)]
            bobs = await enter(bodies, 2, stack)
        async with AsyncExitStack() as stack:
            return anns, bobs, await enter(bodies, 1, stack)

    assert asyncio.run(both()) == ([True, False, False, False, False], True, True)


def test_a_body_that_does_not_come(listen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.http.api.bodies.READ_TIMEOUT_S", 0.1)
    served = listen()
    port = int(served.address.rpartition(":")[2])
    head = f"POST /v1/drafts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {served.house.key('ann')}\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as slow:
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert read_until(slow, b"request_timeout").startswith(b"HTTP/1.1 408 ")


def test_a_time_out_of_something_else_is_not_the_bodys(house: Any) -> None:
    def late(texts: Any) -> Any:
        raise TimeoutError

    answer = house(rewards=late).as_user("ann").post("/v1/drafts", {"request": "write"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
