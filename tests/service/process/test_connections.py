from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

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


@pytest.fixture
def port(until: Callable[[Callable[[], bool]], None]) -> Iterator[int]:
    app = Starlette(routes=[Route("/early", early, methods=["GET", "POST"]), Route("/whole", whole, methods=["POST"])])
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


def test_the_head_of_the_next_request_has_as_long(port: int, hurry: Callable[[], None]) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"GET /early HTTP/1.1\r\nHost: a\r\n\r\n")
        read_until(connection, b"not read")
        hurry()
        connection.sendall(b"GET /early HT")
        assert is_closed(connection)


def test_a_body_that_nobody_reads_has_as_long(port: int, hurry: Callable[[], None]) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
        read_until(connection, b"not read")
        hurry()
        connection.sendall(b"a few bytes")
        assert is_closed(connection)


def test_requests_are_answered(port: int) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for _ in range(3):
            assert client.get("/early").text == "not read"
            assert client.post("/whole", content=b"x" * 1_000_000).text == "1000000"
