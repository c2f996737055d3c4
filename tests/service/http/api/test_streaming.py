from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import anyio
import pytest

from pearl.errors import ChatTimeout
from service.http.api.errors import CatchUnexpected
from service.http.api.streaming import KEEP_ALIVE, EventStream, event


async def collected(events: AsyncGenerator[bytes, None], *, named: bool = True) -> list[Any]:
    failed = partial(event, name="error") if named else event
    return [item async for item in EventStream(events, failed=failed).body_iterator]


def test_an_event_is_one_line_of_json() -> None:
    assert event({"text": "a\n\nb"}, "delta") == b'event: delta\ndata: {"text":"a\\n\\nb"}\n\n'
    assert event({"text": "☃"}) == 'data: {"text":"☃"}\n\n'.encode()
    assert event({"score": float("nan")}) == b'data: {"score":null}\n\n'


def test_an_event_is_one_line_for_readers_that_know_other_line_ends_too() -> None:
    text = "a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029b"
    first, second, *end = event({"text": text}, "delta").decode().splitlines()
    assert (first, end) == ("event: delta", [""])
    assert json.loads(second.removeprefix("data: ")) == {"text": text}


def test_comments_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.http.api.streaming.KEEP_ALIVE_S", 0.01)

    async def read() -> list[bytes]:
        go_on = asyncio.Event()

        async def slow() -> AsyncGenerator[bytes, None]:
            yield b"a"
            await go_on.wait()
            yield b"b"

        found = []
        async for item in EventStream(slow(), failed=event).body_iterator:
            found.append(item)
            if found.count(KEEP_ALIVE) == 3:
                go_on.set()
        return found

    first, *comments, last = asyncio.run(read())
    assert (first, last) == (b"a", b"b")
    assert set(comments) == {KEEP_ALIVE}


@pytest.mark.parametrize("named", [True, False])
def test_an_error_is_the_last_event(named: bool) -> None:
    async def failing() -> AsyncGenerator[bytes, None]:
        yield b"a"
        raise ChatTimeout("Too late.")

    first, last = asyncio.run(collected(failing(), named=named))
    assert first == b"a"
    assert last.startswith(b"event: error\n") == named
    assert b'{"error":{"message":"Too late.","type":"upstream_error","param":null,"code":"llm_timeout"}}' in last


@pytest.mark.parametrize("at_work", [True, False], ids=["while it waits for more", "between two pieces"])
def test_a_cancelled_stream_waits_for_the_generation_to_end(at_work: bool) -> None:
    """As when a client leaves: a generation that takes a while to stop has stopped when the stream is over."""
    ended: list[str] = []

    async def generation() -> AsyncGenerator[bytes, None]:
        try:
            yield b"a"
            if at_work:
                await asyncio.sleep(60)
            while True:
                yield b"b"
        finally:
            await asyncio.sleep(0.05)
            ended.append("generation")

    async def read() -> None:
        stream = EventStream(generation(), failed=event).body_iterator
        with anyio.CancelScope() as scope:
            async for item in stream:
                if at_work and item == b"a":
                    asyncio.get_running_loop().call_later(0.02, scope.cancel)
                elif not at_work and item == b"b":
                    scope.cancel()
                    await anyio.sleep(1)
        await stream.aclose()
        ended.append("stream")

    asyncio.run(read())
    assert ended == ["generation", "stream"]


def test_a_stream_that_the_server_cuts_short_as_it_stops_ends_with_an_error() -> None:
    sent: list[Any] = []
    begun = asyncio.Event()

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    async def silent() -> AsyncGenerator[bytes, None]:
        yield b"a"
        begun.set()
        await asyncio.sleep(60)

    async def cut_short() -> None:
        stream = EventStream(silent(), failed=partial(event, name="error"))
        scope = {"type": "http", "method": "POST", "asgi": {"spec_version": "2.3"}}
        call = asyncio.create_task(CatchUnexpected(stream)(scope, receive, send))
        await begun.wait()
        call.cancel("Task cancelled, timeout graceful shutdown exceeded")
        await call

    asyncio.run(cut_short())
    assert [message["type"] for message in sent] == ["http.response.start"] + 2 * ["http.response.body"]
    assert sent[-1]["body"].startswith(b"event: error\n")
    assert b'"code":"stopping"' in sent[-1]["body"]
    assert not sent[-1].get("more_body")
