from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from service.http.mcp import stdio
from service.http.mcp.protocol import McpReply, McpTools
from service.http.mcp.stdio import lines_of, serve

SECRET = "a text of theirs"


class SlowTools:
    """Stands for a toolbox; its one tool waits until the other one is called."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.tools = McpTools({"slow": {}, "go_on": {}, "broken": {}}, self.call)

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "slow":
            await self.go_on.wait()
        elif name == "go_on":
            self.go_on.set()
        else:
            raise KeyError(SECRET)
        return {"content": [name]}


def called(name: str, message_id: int | str) -> Any:
    return {"jsonrpc": "2.0", "id": message_id, "method": "tools/call", "params": {"name": name}}


def answers(*messages: Any) -> list[Any]:
    """The answers to messages, or raw lines, in the order in which they are written."""
    written: list[McpReply] = []

    async def lines() -> AsyncGenerator[bytes | None, None]:
        for message in messages:
            yield message if message is None or isinstance(message, bytes) else json.dumps(message).encode()
            await asyncio.sleep(0)

    async def run() -> None:
        toolbox: Any = SlowTools()
        await asyncio.wait_for(serve(lines(), toolbox, written.append), 60)

    asyncio.run(run())
    return [answer.body for answer in written]


def test_calls_run_at_once_and_all_are_answered_before_the_end() -> None:
    first, second = answers(called("slow", 1), called("go_on", "a"))
    assert (first["id"], second["id"]) == ("a", 1)


def test_no_more_run_at_once_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "AT_ONCE", 2)
    running, most = 0, 0

    async def call(self: SlowTools, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return {"content": [name]}

    monkeypatch.setattr(SlowTools, "call", call)
    assert sorted(answer["id"] for answer in answers(*(called("go_on", number) for number in range(9)))) == [*range(9)]
    assert most == 2


def test_no_more_is_read_than_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = iter((b"1", b"2", b"3", b"4", b"5", b""))
    given: list[bytes] = []

    def read(file: int, size: int) -> bytes:
        given.append(next(pieces))
        return given[-1]

    async def walk() -> list[bytes]:
        next_piece = stdio.standard_input()
        await asyncio.sleep(0.2)
        assert len(given) == 2
        return [await next_piece() for _ in range(6)]

    monkeypatch.setattr(stdio, "PIECES", 2)
    monkeypatch.setattr(stdio.os, "read", read)
    assert asyncio.run(walk()) == [b"1", b"2", b"3", b"4", b"5", b""]


@pytest.mark.parametrize("wanted", [1, "1", [1], None])
def test_a_call_that_is_taken_back_has_no_answer(wanted: Any) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": wanted}}
    ids = [answer["id"] for answer in answers(called("slow", 1), cancel, called("go_on", 2))]
    assert ids == ([2] if wanted == 1 else [2, 1])


def test_an_unforeseen_error_is_answered_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    (answer,) = answers(called("broken", 1))
    assert (answer["id"], answer["error"]["code"]) == (1, -32603)
    assert SECRET not in answer["error"]["message"] + caplog.text
    assert "unexpected KeyError" in caplog.text


def test_lines_that_are_no_messages() -> None:
    given = (b"{", b"\xff", b"[]", b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, b"", b" \r")
    errors = [(answer["id"], answer["error"]["code"]) for answer in answers(*given)]
    assert errors == [(None, -32700), (None, -32700), (None, -32600), (None, -32600), (None, -32600)]


def test_a_request_without_params_may_say_null() -> None:
    (answer,) = answers({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": None})
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_reader_that_is_gone_ends_it() -> None:
    def write(answer: McpReply) -> None:
        raise BrokenPipeError

    async def lines() -> AsyncGenerator[bytes | None, None]:
        yield json.dumps(called("go_on", 1)).encode()
        await asyncio.Event().wait()

    async def run() -> None:
        toolbox: Any = SlowTools()
        await asyncio.wait_for(serve(lines(), toolbox, write), 60)

    asyncio.run(run())


def test_lines_come_in_any_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST_LINE", 5)

    async def split(*pieces: bytes) -> list[bytes | None]:
        left = iter((*pieces, b""))

        async def read() -> bytes:
            return next(left)

        return [line async for line in lines_of(read)]

    assert asyncio.run(split(b"a", b"b\nc", b"\n\nd")) == [b"ab", b"c", b"", b"d"]
    assert asyncio.run(split(b"toolong", b"er", b"still\nok\n")) == [None, b"ok"]
    assert asyncio.run(split(b"toolonger\nok")) == [None, b"ok"]
    assert asyncio.run(split(b"toolong")) == [None]
