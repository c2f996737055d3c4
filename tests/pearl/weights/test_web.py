"""Files from servers that break off, change their file, or know no ranges."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from rich.console import Console

from pearl.errors import PearlError
from pearl.weights.progress import shown_transfer
from pearl.weights.unfinished import Unfinished
from pearl.weights.web import TRIES, Web

FILE = bytes(range(256)) * 100


class Broken(httpx2.SyncByteStream):
    """Some bytes, and then no connection."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        raise httpx2.ReadError("reset by peer")


@dataclass
class Server:
    """Answers with ``most`` bytes at a time; ``refuses`` gives the status of the n-th request, if not the file."""

    file: bytes = FILE
    most: int = len(FILE)
    version: str | None = '"1"'
    ranges: bool = True
    refuses: Callable[[int], int | None] = lambda number: None
    asked: list[str | None] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        wanted = request.headers.get("range")
        self.asked.append(wanted)
        if status := self.refuses(len(self.asked)):
            return httpx2.Response(status)
        same = self.ranges and request.headers.get("if-range") == self.version
        begin = int(wanted[len("bytes=") : -1]) if wanted and same else 0
        headers = {"content-length": str(len(self.file) - begin)}
        if self.version:
            headers["etag"] = self.version
        if begin >= len(self.file):
            return httpx2.Response(416, headers={"content-range": f"bytes */{len(self.file)}"})
        if begin:
            headers["content-range"] = f"bytes {begin}-{len(self.file) - 1}/{len(self.file)}"
        piece = self.file[begin : begin + self.most]
        stream = httpx2.ByteStream(piece) if begin + self.most >= len(self.file) else Broken(piece)
        return httpx2.Response(206 if begin else 200, headers=headers, stream=stream)


@dataclass
class Fetching:
    """What a test fetches with, and the pauses that were made."""

    unfinished: Unfinished
    said: io.StringIO = field(default_factory=io.StringIO)
    pauses: list[float] = field(default_factory=list)

    def __call__(
        self, server: Callable[[httpx2.Request], httpx2.Response], url: str = "https://a.test/m.gguf"
    ) -> bytes:
        web = Web(url, transport=httpx2.MockTransport(server), sleep=self.pauses.append)
        with shown_transfer(Console(file=self.said, width=200), "mine") as transfer:
            web.fetch(self.unfinished, transfer)
        return self.unfinished.file.read_bytes()


@pytest.fixture
def fetch(tmp_path: Path) -> Fetching:
    return Fetching(Unfinished(tmp_path / ".mine.partial"))


def test_broken_connections_are_taken_up_again(fetch: Fetching) -> None:
    server = Server(most=10_000)
    assert fetch(server) == FILE
    assert server.asked == [None, "bytes=10000-", "bytes=20000-"]
    assert fetch.pauses == [2.0, 2.0]
    assert "mine: the connection failed (ReadError); trying again" in fetch.said.getvalue()


def test_what_an_earlier_run_kept_is_not_fetched_again(fetch: Fetching) -> None:
    fails = Server(most=10_000, refuses=lambda number: 404 if number == 2 else None)
    with pytest.raises(PearlError, match="it answers 404 Not Found"):
        fetch(fails)
    server = Server()
    assert fetch(server) == FILE
    assert server.asked == ["bytes=10000-"]
    assert fetch(server) == FILE  # whole already
    assert server.asked == ["bytes=10000-", "bytes=25600-"]


@pytest.mark.parametrize(
    "server",
    [
        Server(file=FILE[::-1], version='"2"'),
        Server(file=FILE[::-1], version=None),
        Server(file=FILE[::-1], ranges=False),
        Server(file=FILE[:5_000], version='"2"'),
        Server(file=FILE[:5_000]),
    ],
    ids=["changed", "no version", "no ranges", "changed and shorter", "shorter under the same version"],
)
def test_another_file_is_fetched_from_its_beginning(fetch: Fetching, server: Server) -> None:
    with pytest.raises(PearlError):
        fetch(Server(most=10_000, refuses=lambda number: 404 if number == 2 else None))
    assert fetch(server) == server.file


def test_a_weak_version_promises_nothing(fetch: Fetching) -> None:
    server = Server(version='W/"1"')
    with pytest.raises(PearlError):
        fetch(Server(version='W/"1"', most=10_000, refuses=lambda number: 404 if number == 2 else None))
    assert fetch(server) == FILE
    assert server.asked == [None]


def test_a_server_that_compresses_all_the_same(fetch: Fetching) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        headers = {"content-encoding": "gzip", "etag": '"1"'}
        return httpx2.Response(
            200, headers=headers, stream=Broken(packed) if asked.pop() else httpx2.ByteStream(packed)
        )

    asked, packed = [False, True], gzip.compress(FILE)
    assert fetch(answer) == FILE


def test_a_busy_server_is_asked_again(fetch: Fetching) -> None:
    server = Server(refuses=lambda number: 503 if number < 3 else None)
    assert fetch(server) == FILE
    assert fetch.pauses == [2.0, 4.0]


def test_it_gives_up_and_says_what_is_kept(fetch: Fetching) -> None:
    server = Server(file=FILE * 100, most=2_000_000, refuses=lambda number: 503 if number > 1 else None)
    with pytest.raises(PearlError, match=r"it answers 503 .* again\. 2 MB are kept, and it goes on there\.$"):
        fetch(server)
    assert len(server.asked) == TRIES


def test_an_address_that_cannot_be_reached_is_said_at_once(fetch: Fetching) -> None:
    def unknown(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("Name or service not known")

    with pytest.raises(PearlError) as raised:
        fetch(unknown, "https://me:secret@a.test/m.gguf?token=hidden")
    assert raised.value.message == (
        "https://***@a.test/m.gguf?token=*** could not be fetched: Name or service not known. Check the address and "
        "the network, then run the same command again."
    )
    assert fetch.pauses == []


def test_redirects_are_followed(fetch: Fetching) -> None:
    server = Server()

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "a.test":
            return httpx2.Response(302, headers={"location": "https://files.test/m.gguf"})
        return server(request)

    assert fetch(answer) == FILE


def test_a_server_that_does_not_say_how_much_it_sends(fetch: Fetching) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=httpx2.ByteStream(FILE))

    assert fetch(answer) == FILE


def test_too_little_room_is_said_before_it_comes(fetch: Fetching) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-length": str(10**18)}, stream=httpx2.ByteStream(b""))

    with pytest.raises(PearlError, match=r"1,000,000,000,000 MB of free space are needed"):
        fetch(answer)
