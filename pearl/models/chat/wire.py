"""The HTTP client under the SDK: it follows no redirects, limits the length of answers, and yields streamed events that
arrived together in one batch."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

import httpx2
import openai

from pearl.errors import ChatError

MOST_BYTES = 16_000_000  # of one answer; a long draft has some 100 kB, one event a token
MOST_EVENT_BYTES = 1_000_000  # of one event, which is parsed at once
EVENT_END = re.compile(rb"\n\n|\r\r|\r\n\r\n")
LINE_END = re.compile(rb"\r\n|\r|\n")
DONE, DRAIN_S = b"[DONE]", 0.1
# compressed, a few bytes could become any number of them
PLAIN = {"accept-encoding": "identity"}


def http_client(silence_s: float) -> httpx2.AsyncClient:
    """Make an HTTP client with time limits: ``silence_s`` without a byte, five seconds for a connection."""
    return openai.DefaultAsyncHttpxClient(
        timeout=httpx2.Timeout(silence_s, connect=min(silence_s, 5.0)),
        verify=certificates(),
        follow_redirects=False,
        event_hooks={"response": [_bound]},
    )


@cache
def certificates() -> ssl.SSLContext:
    """Load the trusted certificate authorities, once per process: it takes 30 ms, and there are several clients."""
    return httpx2.create_ssl_context()


async def _bound(response: Any) -> None:
    """Limit the length of an answer: reading a longer one raises ChatError. A compressed answer raises it at once."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ChatError(
            "The model's endpoint compresses its answers although it is asked not to; turn that off.",
            code="llm_unreadable",
        )
    response.stream = BoundedStream(response.stream)


class BoundedStream(httpx2.AsyncByteStream):
    """Passes on the bytes of a stream, and lets other tasks run after each piece. Raises ChatError for more than
    MOST_BYTES in all, or more than MOST_EVENT_BYTES in one event."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read, event, end = 0, 0, b""
        async for received in self._stream:
            read += len(received)
            if read > MOST_BYTES:
                raise _too_long(MOST_BYTES, "one answer")
            ends = [found.end() for found in EVENT_END.finditer(end + received)]
            event = len(end) + len(received) - ends[-1] if ends else event + len(received)
            end = (end + received)[-3:]
            if event > MOST_EVENT_BYTES:
                raise _too_long(MOST_EVENT_BYTES, "one piece")
            yield received
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        await self._stream.aclose()


class Calls:
    """Calls ``POST /chat/completions`` directly through the SDK's HTTP client, with its address and headers: the SDK's
    own work for a call took twice as long as the call."""

    def __init__(self, client: openai.AsyncOpenAI, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._url = client.base_url.join("chat/completions")
        self._headers = {
            name: value for name, value in client.default_headers.items() if isinstance(value, str)
        } | client.auth_headers

    async def post(self, body: dict[str, Any]) -> object:
        """Post ``body``. Return Events if the body asks for a stream; otherwise the answer's JSON value, or its text if
        it is not JSON. Raises openai.APIStatusError, httpx2.HTTPError, ValueError."""
        request = self._http.build_request("POST", self._url, headers=self._headers, json=body)
        response = await self._http.send(request, stream=True)
        try:
            if response.is_success and body.get("stream"):
                return Events(response)
            await response.aread()
        except BaseException:
            await response.aclose()
            raise
        answer: object
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            answer = response.text
        if not response.is_success:
            said = answer.get("error", answer) if isinstance(answer, dict) else answer
            raise openai.APIStatusError(f"status {response.status_code}", response=response, body=said)
        return answer


class Events:
    """Iterates over a streamed answer: each item is a list of the events, as JSON values, that arrived together. Raises
    APIError for an event that reports an error, ValueError for an event that is not JSON, and httpx2.HTTPError."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._batches = self._read()

    async def __anext__(self) -> list[object]:
        return await anext(self._batches)

    async def aclose(self) -> None:
        await self._batches.aclose()
        await self._response.aclose()  # also where nothing was read

    async def _read(self) -> AsyncGenerator[list[object], None]:
        pieces, waiting = self._response.aiter_bytes(), bytearray()
        async for received in pieces:
            known = max(0, len(waiting) - len(b"\r\n\r"))
            waiting += received
            if EVENT_END.search(waiting, known) is None:
                continue
            *blocks, rest = EVENT_END.split(bytes(waiting))
            waiting = bytearray(rest)
            batch, last = _values(blocks, self._response.request)
            if batch:
                yield batch
            if isinstance(last, Exception):
                raise last
            if last:
                await _drain(pieces)
                return


def _values(blocks: Iterable[bytes], request: httpx2.Request) -> tuple[list[object], Exception | bool]:
    """Parse blocks to events, up to the end or a fault. Return the events, and True at the end, the fault, or False."""
    batch: list[object] = []
    for data in filter(None, map(_data, blocks)):
        if data.startswith(DONE):
            return batch, True
        try:
            event: object = json.loads(data)
        except (ValueError, RecursionError) as error:
            return batch, error
        if isinstance(event, dict) and (said := event.get("error")):
            message = said.get("message") if isinstance(said, dict) else None
            return batch, openai.APIError(str(message or "It sent an error."), request, body=said)
        batch.append(event)
    return batch, False


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what follows the end, unless that takes long, so that the connection can be used again."""
    with suppress(TimeoutError, httpx2.RequestError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                pass


def _data(block: bytes) -> bytes:
    """The data of an event: the lines of its field "data"."""
    lines = (line.partition(b":") for line in LINE_END.split(block))
    return b"\n".join(value.removeprefix(b" ") for name, _, value in lines if name == b"data")


def _too_long(most: int, what: str) -> ChatError:
    return ChatError(f"The model's endpoint sent more than {most // 1_000_000} MB in {what}.", code="llm_too_long")
