"""Read request bodies: only after the key is checked, within limits of size, and off the event loop.

A route of the class :class:`KeyedRoute` checks the key in the headers first, and reads nothing of the body without a
key. The body's size is checked while it arrives; a thread parses and validates the body.
"""

from __future__ import annotations

import asyncio
import email.message
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes
from weakref import WeakValueDictionary

import anyio.to_thread
import orjson
from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from pearl.errors import InputError, Malformed, Overloaded, PearlError, TooLarge
from service.http.api.dependencies import authenticate, authenticate_operator
from service.http.api.streaming import ClientLeft

# up to the quote that ends it, or to the end of the data; possessive, so that no byte is read twice
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
MARKS = b"[]{},"
NOT_MARKS = bytes(set(range(256)) - set(MARKS))
OPEN, CLOSE = b"[{", b"]}"
PIECE = 65_536  # bytes scanned at a time


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """The limits on the structure of a JSON body."""

    values: int  # in all
    fields: int = 200  # in one object
    depth: int = 32  # levels of nesting


class JsonScan:
    """Checks a JSON body while it arrives: counts its values, the fields of its objects and its levels of nesting."""

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits
        self._in_string = False
        self._carried = b""  # a backslash whose character has not come yet
        self._values = 0
        self._strings = 0
        self._fields: list[int | None] = []  # of every object that is open; None for an array

    def feed(self, data: bytes) -> None:
        """Scan the next bytes. Raises TooLarge for too many values, Malformed for deep nesting or broken JSON."""
        for start in range(0, len(data), PIECE):
            self._count(self._outside_strings(self._carried + data[start : start + PIECE]))

    def _outside_strings(self, data: bytes) -> bytes:
        position, end = 0, b'"'
        if self._in_string:
            rest = INSIDE.match(data)
            assert rest is not None, "the expression matches anything"
            position, end = rest.end(), rest[1]
        parts = STRING.split(data[position:])  # alternately the bytes between strings, and the end of a string
        self._strings += len(parts) // 2
        end = parts[-2] if len(parts) > 1 else end
        self._in_string = end != b'"'
        self._carried = end if self._in_string else b""
        return b"".join(parts[::2])

    def _count(self, outside: bytes) -> None:
        marks = outside.translate(None, NOT_MARKS)
        opened = marks.count(b"[") + marks.count(b"{")
        commas = marks.count(b",")
        self._values += opened + commas
        if self._values > self._limits.values or self._strings > 2 * self._limits.values + 2:
            raise too_many(f"more than {self._limits.values:,} values")
        if len(marks) - commas - opened > opened + len(self._fields):
            raise Malformed("The body is not JSON: more brackets are closed than were opened.", code="invalid_json")
        for mark in marks:
            self._take(mark)

    def _take(self, mark: int) -> None:
        fields = self._fields
        if mark in OPEN:
            fields.append(1 if mark == OPEN[1] else None)
            if len(fields) > self._limits.depth:
                raise Malformed(
                    f"The body is nested deeper than {self._limits.depth} levels; no field here needs that.",
                    code="too_deep",
                )
        elif mark in CLOSE:
            if fields:
                fields.pop()
        elif fields and (count := fields[-1]) is not None:
            fields[-1] = count + 1
            if count + 1 > self._limits.fields:
                raise too_many(f"an object with more than {self._limits.fields:,} fields")


def too_many(what: str) -> PearlError:
    return TooLarge(f"The body has {what}; send less at once.", code="too_many_values")


SMALL = 16_384  # bytes: up to this it is quicker to check a body than to hand it to a thread
LARGE = 1_000_000  # bytes: few bodies of more are held at once; their texts can take four times as much when parsed
LARGE_AT_ONCE, LARGE_OF_USER = 4, 1
READ_TIMEOUT_S = 30.0  # for a client to send a body
MOST = 8_000_000  # bytes of any body
RETRY_S = 2.0


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The limits on the body of a route's requests."""

    json: JsonLimits
    bytes: int = 4_000_000  # two texts of 1 MB, and room for escapes


USUAL = BodyLimits(JsonLimits(values=500))
RANKED = BodyLimits(JsonLimits(values=20_000), bytes=2_000_000)  # all of it is read by the retriever
# a long conversation with tools that are passed over
TALKED = BodyLimits(JsonLimits(values=40_000, fields=500), bytes=MOST)
CONVERSATIONS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/api/chat")
LIMITS = {
    "/v1/documents": BodyLimits(JsonLimits(values=20_000), bytes=MOST),
    **dict.fromkeys(("/v1/rerank", "/v2/rerank"), RANKED),
    **dict.fromkeys((*CONVERSATIONS, "/api/generate"), TALKED),
}


class LargeBodies:
    """Limits how many large request bodies are in memory at once: a few in all, and one for each user."""

    def __init__(self, at_once: int = LARGE_AT_ONCE) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._of_user: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    async def enter(self, user_id: int, seconds: float, stack: AsyncExitStack) -> None:
        """Wait for a place, which ``stack`` frees at its exit. Raises Overloaded if none is free within ``seconds``."""
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
    """A route for programs that monitor the service; it checks their service key first."""

    let_in = staticmethod(authenticate_operator)


class Arrived(Request):
    """A request whose body was read and validated before; :meth:`json` returns the validated records."""

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
    """Read the whole body. A large body keeps its place in LargeBodies until it is answered, to bound the memory."""
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


# routes in the shape of another's API, whose clients add parameters of theirs: ?beta=true, ?api-version=2024-10-21
OF_OTHERS = {"OpenAI-compatible", "Anthropic-compatible", "Ollama-compatible", "rerank", "Model Context Protocol"}


async def refuse_other_encodings(request: Request) -> None:
    """Check on every route that path and query are UTF-8. Raises Malformed if they are not."""
    for part in (request.scope["raw_path"], request.scope["query_string"]):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            raise Malformed(
                "The address is not UTF-8; encode names in it as UTF-8, then percent-encode them.", code="not_utf8"
            ) from None


async def refuse_unknown_parameters(request: Request) -> None:
    """Check the query parameters of a request, except on routes in another API's format. Raises InputError that names
    the first unknown parameter and all known ones."""
    route = request.scope["route"]
    needed, tags = (route.dependant, route.tags) if isinstance(route, APIRoute) else (Dependant(), [])
    if not request.query_params or not OF_OTHERS.isdisjoint(tags):
        return
    known = sorted(_names(needed))
    for name in request.query_params:
        if name not in known:
            offered = f"There are {', '.join(known)}." if known else "This route has none."
            raise InputError(
                f"There is no query parameter '{name}' here. {offered}", param=name, code="unknown_parameter"
            )


def _names(dependant: Dependant) -> Iterator[str]:
    """The query parameters of a route, or of something that it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for needed in dependant.dependencies:
        yield from _names(needed)
