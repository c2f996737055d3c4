"""Reading bodies: after the key, within limits, off the event loop.

A route of the class :class:`KeyedRoute` checks the key in the headers first; without one no byte of the body is read.
The body is counted while it arrives, and parsed and checked in a thread.
"""

from __future__ import annotations

import asyncio
import email.message
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import anyio.to_thread
import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from pearl.errors import InputError, Malformed, Overloaded, PearlError, TooLarge
from service.api.dependencies import authenticate, authenticate_operator
from service.api.json_scan import JsonLimits, JsonScan
from service.api.parameters import refuse_unknown_parameters
from service.api.streaming import ClientLeft

SMALL = 16_384  # bytes: up to this it is quicker to check a body than to hand it to a thread
LARGE = 1_000_000  # bytes: few bodies of more are held at once; their texts can take four times as much when parsed
LARGE_AT_ONCE, LARGE_OF_USER = 4, 1
READ_TIMEOUT_S = 30.0  # for a client to send a body
MOST = 8_000_000  # bytes of any body
RETRY_S = 2.0


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The most that a route takes."""

    json: JsonLimits
    bytes: int = 4_000_000  # two texts of 1 MB, and room for escapes


USUAL = BodyLimits(JsonLimits(values=500))
# more than the usual: many documents, or a long conversation with tools that are passed over
LIMITS = {
    "/v1/documents": BodyLimits(JsonLimits(values=20_000), bytes=MOST),
    "/v1/rerank": BodyLimits(JsonLimits(values=20_000), bytes=2_000_000),  # all of it is read by the retriever
    "/v2/rerank": BodyLimits(JsonLimits(values=20_000), bytes=2_000_000),
    "/v1/chat/completions": BodyLimits(JsonLimits(values=40_000, fields=500), bytes=MOST),
    "/v1/responses": BodyLimits(JsonLimits(values=40_000, fields=500), bytes=MOST),
    "/v1/messages": BodyLimits(JsonLimits(values=40_000, fields=500), bytes=MOST),
    "/v1/messages/count_tokens": BodyLimits(JsonLimits(values=40_000, fields=500), bytes=MOST),
    "/api/chat": BodyLimits(JsonLimits(values=40_000, fields=500), bytes=MOST),
    "/api/generate": BodyLimits(JsonLimits(values=40_000, fields=500), bytes=MOST),
}


class LargeBodies:
    """Limits the large bodies held at once. A user's second one waits for their first, so that no other user waits."""

    def __init__(self, at_once: int = LARGE_AT_ONCE) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._of_user: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    async def enter(self, user_id: int, seconds: float, stack: AsyncExitStack) -> None:
        """Wait for a turn, which ``stack`` releases. Raises Overloaded if none comes free in ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                await stack.enter_async_context(self._of_user.setdefault(user_id, asyncio.Semaphore(LARGE_OF_USER)))
                await stack.enter_async_context(self._all)
        except TimeoutError:
            raise Overloaded(
                "Too many large bodies at once; try again a little later, or send smaller ones.", retry_after=RETRY_S
            ) from None


class TimedOut(InputError):
    """The body did not arrive in time."""

    http_status = 408
    default_code = "request_timeout"


class KeyedRoute(APIRoute):
    """A route that checks the key before it looks at parameters and reads the body. ``let_in`` raises an error for a
    request without a key."""

    let_in: Callable[[Request], Coroutine[Any, Any, object]] = staticmethod(authenticate)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, field, let_in = super().get_route_handler(), self.body_field, self.let_in
        limits = LIMITS.get(self.path, USUAL)

        async def keyed(request: Request) -> Response:
            await let_in(request)
            if field is None:
                return await handle(request)
            await refuse_unknown_parameters(request)
            if not _is_json(request.headers.get("content-type", "")):
                raise InputError(
                    "The body is not said to be JSON; send 'Content-Type: application/json'.", code="not_json"
                )
            if request.headers.get("content-encoding", "identity").lower() != "identity":
                raise InputError(
                    "The body is compressed; send it without 'Content-Encoding'.",
                    param="Content-Encoding",
                    code="compressed_body",
                )
            async with _read(request, limits) as body:
                if not body:
                    raise InputError("The body is empty; send a JSON object.", code="missing")
                check = _checked(field.validate, body)
                value, problems = check() if len(body) <= SMALL else await anyio.to_thread.run_sync(check)
                if problems:
                    raise RequestValidationError(problems)
                return await handle(Arrived(request, body, value))

        return keyed


class OperatorRoute(KeyedRoute):
    """A keyed route for programs that watch the service."""

    let_in = staticmethod(authenticate_operator)


class Arrived(Request):
    """A request whose body is read and checked. FastAPI gets the checked records as its JSON; checking those again only
    looks at their types."""

    def __init__(self, request: Request, body: bytes, value: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._body = body
        self._value = value

    async def json(self) -> Any:
        return self._value


def _is_json(content_type: str) -> bool:
    message = email.message.Message()
    message["content-type"] = content_type
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


@asynccontextmanager
async def _read(request: Request, limits: BodyLimits) -> AsyncIterator[bytes]:
    """Read the whole body. A large one holds a turn of LargeBodies until it is answered, so that memory has a bound."""
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdecimal() else 0
    if announced > limits.bytes:
        raise _too_large(limits.bytes)
    large_bodies: LargeBodies = request.app.state.large_bodies
    pieces, received, entered = [], 0, False
    scan = JsonScan(limits.json)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                async for piece in request.stream():
                    received += len(piece)
                    if received > limits.bytes:
                        raise _too_large(limits.bytes)
                    if not entered and max(announced, received) > LARGE:
                        await large_bodies.enter(request.state.caller.user.id, READ_TIMEOUT_S / 2, stack)
                        entered = True
                    scan.feed(piece)
                    pieces.append(piece)
        except TimeoutError:
            raise TimedOut(f"The body did not arrive within {READ_TIMEOUT_S:g} s.") from None
        except ClientDisconnect:
            raise ClientLeft from None
        yield b"".join(pieces) if len(pieces) != 1 else pieces[0]


def _too_large(most: int) -> PearlError:
    return TooLarge(f"The body is over the limit of {most:,} bytes; send less at once.", code="body_too_large")


def _checked(validate: Callable[..., tuple[Any, list[Any]]], body: bytes) -> Callable[[], tuple[Any, list[Any]]]:
    return lambda: validate(_parsed(body), {}, loc=("body",))


def _parsed(body: bytes) -> Any:
    """Parse a JSON body. Raises Malformed if it is not JSON in UTF-8; half a surrogate pair is not."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        message, offset = error.msg, error.pos
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"The body is not UTF-8 (byte {error.start + 1}).", code="not_utf8") from None
    if "surrogate" in message:
        raise Malformed(
            f"The body contains half of a surrogate pair (byte {offset + 1}), which is not valid Unicode; re-encode it "
            "as UTF-8.",
            code="invalid_unicode",
        )
    raise Malformed(f"The body is not JSON: {message} (byte {offset + 1}).", code="invalid_json")
