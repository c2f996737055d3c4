"""The HTTP client under the SDK: it follows no redirect, and reads no answer without end."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import httpx2
import openai

from pearl.errors import ChatError

MOST_BYTES = 16_000_000  # of one answer; a long draft has some 100 kB, one event a token
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
    """The bytes of another stream, at most MOST_BYTES of them."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for piece in self._stream:
            read += len(piece)
            if read > MOST_BYTES:
                raise ChatError(
                    f"The model's endpoint sent more than {MOST_BYTES // 1_000_000} MB in one answer.",
                    code="llm_too_long",
                )
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
