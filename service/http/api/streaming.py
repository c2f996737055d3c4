"""Server-sent events with keep-alive lines, and work that is cancelled if its client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, TypeVar

import anyio
import orjson
from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pearl.errors import PearlError
from service.http.api.errors import STOPPING, error_body, unexpected

T = TypeVar("T")

KEEP_ALIVE = b": keep-alive\n\n"
KEEP_ALIVE_S = 10.0  # of silence, after which that line is sent
EVENTS, LINES = "text/event-stream", "application/x-ndjson"
DONE = b"data: [DONE]\n\n"
# they end a line for str.splitlines(), and so for readers such as httpx's iter_lines(), though not in JSON
LINE_ENDS = {mark.encode(): f"\\u{ord(mark):04x}".encode() for mark in "\x85\u2028\u2029"}


def streams(example: str, media_type: str = EVENTS, model: Any = dict[str, Any]) -> dict[str, Any]:
    """Make the arguments that declare a route whose answer is one object (``model``) or a stream like ``example``."""
    return {"response_model": model, "responses": {200: {"content": {media_type: {"example": example}}}}}


def event(data: Any, name: str | None = None) -> bytes:
    """Encode one event with a JSON payload."""
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + line(data) + b"\n"


def line(data: Any) -> bytes:
    """Encode one line of JSON."""
    payload = orjson.dumps(data)
    for mark, escaped in LINE_ENDS.items():
        payload = payload.replace(mark, escaped)
    return payload + b"\n"


class EventStream(StreamingResponse):
    """Streams events, or lines of JSON. If an error occurs or the server stops, the last event is what ``failed`` makes
    of the error's body: clients would not recognize a broken connection as an error of the API."""

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        *,
        failed: Callable[[dict[str, Any]], bytes],
        keep_alive: bytes = KEEP_ALIVE,
        media_type: str = EVENTS,
    ) -> None:
        super().__init__(
            _kept_alive(_with_errors(events, failed), KEEP_ALIVE_S, keep_alive),
            media_type=media_type,
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:  # by the server, which stops and has waited its time
            await send({"type": "http.response.body", "body": self._failed(error_body(STOPPING))})


async def _with_errors(
    events: AsyncGenerator[bytes, None], failed: Callable[[dict[str, Any]], bytes]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(events):
        try:
            async for item in events:
                yield item
        except Exception as error:
            known = error if isinstance(error, PearlError) else unexpected(error, "a stream")
            yield failed(error_body(known))


async def _kept_alive(
    events: AsyncGenerator[bytes, None], seconds: float, keep_alive: bytes = KEEP_ALIVE
) -> AsyncGenerator[bytes, None]:
    """Yield the events, and ``keep_alive`` whenever none came for this many seconds."""
    waiting: asyncio.Task[bytes] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((waiting,), timeout=seconds)
            if not done:
                yield keep_alive
                continue
            try:
                item = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            yield item
    finally:
        # when the client leaves, every await in here would be cancelled too, before the generation has ended
        with anyio.CancelScope(shield=True):
            if waiting is not None:
                waiting.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration):
                    await waiting
            await events.aclose()


class ClientLeft(Exception):
    """The client closed the connection before its answer was ready."""


async def while_connected(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """Do the work; if the client leaves, cancel it and raise ClientLeft. The body must have been read before."""
    task = asyncio.ensure_future(work())
    leaving = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeft
        return task.result()
    finally:
        for pending in (task, leaving):
            if not pending.done():
                pending.cancel()
                with suppress(asyncio.CancelledError):
                    await pending


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
