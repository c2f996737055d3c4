from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from service.process.connections import TimedProtocol
from tests.pieces import read_until


class Hasty(TimedProtocol):
    head_s = 60.0


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on, little time for a head: what a busy machine sends before takes as long as it takes."""
    return lambda: monkeypatch.setattr(Hasty, "head_s", 0.05)


async def early(request: Request) -> PlainTextResponse:
    return PlainTextResponse("not read")


async def whole(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def headers(request: Request) -> PlainTextResponse:
    await request.body()
    return PlainTextResponse(",".join(sorted(request.headers)) + ".")


@pytest.fixture
def port(until: Callable[[Callable[[], bool]], None]) -> Iterator[int]:
    routes = [Route(f"/{each.__name__}", each, methods=["GET", "POST"]) for each in (early, whole, headers)]
    app = Starlette(routes=routes)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, http=Hasty, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def is_closed(connection: socket.socket) -> bool:
    """Wait for the end, which is a reset where it came before what we sent."""
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET /early HT", b"GET /early HTTP/1.1\r\nHost: a\r\nX-Slow:"], ids=str)
def test_a_connection_without_a_request_is_closed(port: int, hurry: Callable[[], None], sent: bytes) -> None:
    hurry()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(sent)
        assert is_closed(connection)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"GET /early HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /early HT"),
        (b"POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", b"a few bytes"),
    ],
    ids=["the next head", "a body that nobody reads"],
)
def test_what_follows_an_answer_has_as_long(port: int, hurry: Callable[[], None], first: bytes, then: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(first)
        read_until(connection, b"not read")
        hurry()
        connection.sendall(then)
        assert is_closed(connection)


@pytest.mark.parametrize("cut", [1000, 90, 1])  # bytes that come at once
def test_nothing_behind_the_head_is_a_header(port: int, cut: int) -> None:
    sent = (
        b"POST /headers HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-User\r\n\r\n"
        b"3\r\nabc\r\n0\r\nX-User: ann\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        for _ in range(2):  # the next request's head counts again
            for at in range(0, len(sent), cut):
                connection.sendall(sent[at : at + cut])
            read_until(connection, b"host,trailer,transfer-encoding.")


def test_of_many_connections_without_a_request_the_oldest_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hasty, "most_without_head", 3)
    with ExitStack() as stack:
        waiting = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(4)]
        assert is_closed(waiting[0])
        for connection in waiting[1:]:
            connection.sendall(b"GET /early HTTP/1.1\r\nHost: a\r\n\r\n")
            read_until(connection, b"not read")


def test_requests_are_answered(port: int) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for _ in range(3):
            assert client.get("/early").text == "not read"
            assert client.post("/whole", content=b"x" * 1_000_000).text == "1000000"
