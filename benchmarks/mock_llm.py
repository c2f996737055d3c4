"""An OpenAI-compatible endpoint that answers the same text to everything, at once, and counts its own time.

The whole answer goes out in one write, so none of its time can hide behind that of its reader; with seconds as an
argument, a token goes out after each of them. ``GET /calls`` gives the calls since the last time it was asked, with
their bodies, and forgets them.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections import deque
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

WORDS = (
    "Hello Tomas, thank you for asking so early. Yes, take the Saturday: I will be at the hall from nine anyway, and "
    "Nan has the second key. Please leave the costume rails where they are, the carpenter needs the wall behind them. "
    "The kettle is in the box by the door. Write to me if anything changes before Friday evening."
)
TOKENS = [word if number == 0 else f" {word}" for number, word in enumerate(WORDS.split())]
KEPT = 300  # calls; a load test makes more, and their bodies would fill the memory


USAGE = {"prompt_tokens": 800, "completion_tokens": len(TOKENS), "total_tokens": 800 + len(TOKENS)}
HEAD = {"id": "chatcmpl-mock", "created": 1_700_000_000, "model": "mock"}


def whole() -> bytes:
    """The chat completion in one piece."""
    choice = {"index": 0, "message": {"role": "assistant", "content": WORDS}, "finish_reason": "stop"}
    return orjson.dumps(HEAD | {"object": "chat.completion", "choices": [choice], "usage": USAGE})


def streamed() -> bytes:
    """The events of a streamed chat completion, one token an event, usage last."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": token} for token in TOKENS)]
    chunks: list[dict[str, Any]] = [
        *({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": USAGE},
    ]
    head = HEAD | {"object": "chat.completion.chunk"}
    return b"".join(b"data: " + orjson.dumps(head | chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


class MockLLM:
    """The endpoint as an ASGI application."""

    def __init__(self, pace_s: float = 0.0) -> None:
        self._streamed, self._whole, self._pace_s = streamed(), whole(), pace_s
        self._calls: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._others = Starlette(routes=[Route("/calls", self._give_calls)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # no framework on this path: what the mock spends is not to be seen in the figures
        if scope["type"] != "http" or not scope["path"].endswith("/chat/completions"):
            return await self._others(scope, receive, send)
        started = time.perf_counter()
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        streams = orjson.loads(body).get("stream", False)
        answer, kind = (self._streamed, b"text/event-stream") if streams else (self._whole, b"application/json")
        pace_s = self._pace_s if streams else 0.0
        headers = [(b"content-type", kind), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in answer.splitlines(keepends=True) if pace_s else ():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(pace_s / 2)  # every second line is empty
        await send({"type": "http.response.body", "body": b"" if pace_s else answer})
        self._calls.append({"milliseconds": (time.perf_counter() - started) * 1000, "body": body.decode()})
        return None

    async def _give_calls(self, request: Request) -> Response:
        calls = list(self._calls)
        self._calls.clear()
        return Response(orjson.dumps(calls), media_type="application/json")


def main() -> None:
    """Serve on a port of the system's choosing."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(MockLLM(*map(float, sys.argv[1:])), access_log=False, log_level="warning", ws="none")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
