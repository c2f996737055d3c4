"""An OpenAI-compatible endpoint that judges at once, always the same question the same way, and counts its calls.

``GET /calls`` gives how many there were, and forgets them.
"""

from __future__ import annotations

import socket
import zlib

import orjson
import uvicorn
from starlette.types import Receive, Scope, Send

WHY = "Both the reference and this post are brief, skip the greeting and put the reason behind the change last. "
VERDICTS = ("POST ONE", "POST TWO", "BOTH")
WORDS = ("A", "B", "None", "Both")
VOTING = b"Reply with one JSON object"  # the prompt of pearl forensics annotate


def answer(verdict: str) -> bytes:
    """A justification and the verdict as a chat completion in one piece."""
    return completion(f"{WHY * 2}\n\n{verdict}")


def votes(first: int) -> bytes:
    """Votes on forty rules, each another word than the one before."""
    return completion(orjson.dumps({str(rule): WORDS[(first + rule) % len(WORDS)] for rule in range(1, 41)}).decode())


def completion(content: str) -> bytes:
    usage = {"prompt_tokens": 600, "completion_tokens": 60, "total_tokens": 660}
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    head = {"id": "chatcmpl-mock", "object": "chat.completion", "created": 1_700_000_000, "model": "mock"}
    return orjson.dumps(head | {"choices": choices, "usage": usage})


class MockJudge:
    """The endpoint as an ASGI application; no framework, whose time would be seen in the figures."""

    def __init__(self) -> None:
        self._answers = [answer(verdict) for verdict in VERDICTS]
        self._votes = [votes(first) for first in range(len(WORDS))]
        self._calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"].endswith("/chat/completions"):
            self._calls += 1
            among = self._votes if VOTING in body else self._answers
            said = among[zlib.crc32(body) % len(among)]
        else:
            said, self._calls = orjson.dumps({"calls": self._calls}), 0
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": said})


def main() -> None:
    """Serve on a port of the system's choosing."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(MockJudge(), access_log=False, log_level="warning", ws="none", lifespan="off")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
