"""Files from servers: whole, or an error that says why not."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from rich.console import Console

from pearl.errors import PearlError
from pearl.models.weights.get import Web
from pearl.models.weights.progress import shown_transfer

FILE = bytes(range(256)) * 100
URL = "https://me:secret@a.test/m.gguf?token=hidden"


class Broken(httpx2.SyncByteStream):
    """Some bytes, and then no connection."""

    def __iter__(self) -> Iterator[bytes]:
        yield FILE[:10_000]
        raise httpx2.ReadError("reset by peer")


def unknown(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("Name or service not known")


def redirected(request: httpx2.Request) -> httpx2.Response:
    if request.url.host == "a.test":
        return httpx2.Response(302, headers={"location": "https://files.test/m.gguf"})
    return httpx2.Response(200, headers={"content-length": str(len(FILE))}, stream=httpx2.ByteStream(FILE))


def fetch(folder: Path, answer: Callable[[httpx2.Request], httpx2.Response]) -> bytes:
    with shown_transfer(Console(file=io.StringIO(), width=200), "mine") as transfer:
        return Web(URL, transport=httpx2.MockTransport(answer)).fetch(folder, transfer).read_bytes()


@pytest.mark.parametrize(
    "answer",
    [
        redirected,
        lambda request: httpx2.Response(200, stream=httpx2.ByteStream(FILE)),
        lambda request: httpx2.Response(
            200, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(gzip.compress(FILE))
        ),
    ],
    ids=["redirected", "of no known length", "compressed all the same"],
)
def test_the_file_comes_whole(tmp_path, answer):
    assert fetch(tmp_path, answer) == FILE


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (unknown, "Name or service not known"),
        (lambda request: httpx2.Response(404), "it answers 404 Not Found"),
        (lambda request: httpx2.Response(200, stream=Broken()), "reset by peer"),
    ],
)
def test_what_cannot_be_fetched(tmp_path, answer, said):
    with pytest.raises(PearlError) as raised:
        fetch(tmp_path, answer)
    assert raised.value.message == (
        f"https://***@a.test/m.gguf?token=*** could not be fetched: {said}. Check the address and the network, then "
        "run the same command again."
    )


def test_too_little_room_is_said_before_it_comes(tmp_path):
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-length": str(10**18)}, stream=httpx2.ByteStream(b""))

    with pytest.raises(PearlError, match=r"1,000,000,000,000 MB of free space are needed"):
        fetch(tmp_path, answer)
