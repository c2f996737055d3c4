"""The HTTP client under the SDK: it follows no redirect, and reads no answer without end."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import httpx2
import openai

from pearl.errors import ChatError

MOST_BYTES = 16_000_000  # of one answer; a long draft has some 100 kB, one event a token
MOST_EVENT_BYTES = 1_000_000  # of one event, which is parsed at once
AT_ONCE = 500  # bytes that are read before other tasks have their turn: some ten events of one letter
EVENT_END = re.compile(rb"\n\n|\r\r|\r\n\r\n")
# compressed, a few bytes could become any number of them
PLAIN = {"accept-encoding": "identity"}


def http_client(silence_s: float) -> httpx2.AsyncClient:
    """A client that gives up after ``silence_s`` without a byte, or after five seconds without a connection."""
    return openai.DefaultAsyncHttpxClient(
        timeout=httpx2.Timeout(silence_s, connect=min(silence_s, 5.0)),
        verify=certificates(),
        follow_redirects=False,
        event_hooks={"response": [_bound]},
    )


@cache
def certificates() -> ssl.SSLContext:
    """The certificate authorities to trust, read once a process: it takes 30 ms, and a client is not the only one."""
    return httpx2.create_ssl_context()


async def _bound(response: Any) -> None:
    """Limit the length of an answer: reading one that never ends raises ChatError, as an encoded one does at once."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ChatError(
            "The model's endpoint compresses its answers although it is asked not to; turn that off.",
            code="llm_unreadable",
        )
    response.stream = BoundedStream(response.stream)


class BoundedStream(httpx2.AsyncByteStream):
    """The bytes of another stream, at most MOST_BYTES in all and MOST_EVENT_BYTES between two ends of events, yielded a
    few at a time so that other tasks have their turn."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read, event, end = 0, 0, b""
        async for received in self._stream:
            read += len(received)
            if read > MOST_BYTES:
                raise _too_long(MOST_BYTES, "one answer")
            for start in range(0, len(received), AT_ONCE):
                piece = received[start : start + AT_ONCE]
                end = end[-3:] + piece
                event += len(piece)
                for ended in EVENT_END.finditer(end):
                    event = len(end) - ended.end()
                if event > MOST_EVENT_BYTES:
                    raise _too_long(MOST_EVENT_BYTES, "one piece")
                yield piece
                await asyncio.sleep(0)

    async def aclose(self) -> None:
        await self._stream.aclose()


def _too_long(most: int, what: str) -> ChatError:
    return ChatError(f"The model's endpoint sent more than {most // 1_000_000} MB in {what}.", code="llm_too_long")
