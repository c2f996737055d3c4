"""A chat model's endpoint that fails in every way: each draft ends, with an answer of ours, and nothing stays behind.
``make endure`` tries 10,000 failures, the suite a few."""

from __future__ import annotations

import gc
import json
import os
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pearl.models.chat.endpoint import EndpointChatModel, Limits

CALLS = int(os.environ.get("PEARL_ENDURE", "0")) * 10_000 or 120
OPEN = Path("/proc/self/fd")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
WORDS = b'data: {"choices":[{"index":0,"delta":{"content":"Dear Bo, the boat. "},"finish_reason":null}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def _status(status: int, body: bytes = b'{"error":{"message":"no"}}') -> bytes:
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (status, len(body), body)


FAULTS: dict[str, bytes] = {
    "none": HEAD + WORDS + END,
    "closed at once": b"",
    "cut in the head": HEAD[:20],
    "cut before the end": HEAD + WORDS,
    "cut in an event": HEAD + WORDS + END[:30],
    "no JSON": HEAD + b"data: {nonsense\n\n",
    "another shape": HEAD + b"data: [1, 2]\n\ndata: 7\n\n" + END,
    "an error in the stream": HEAD + WORDS + b'data: {"error":{"message":"overloaded"}}\n\n',
    "no words": HEAD + END,
    "a page": b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
    "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "a redirect": b"HTTP/1.1 302 X\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
    **{f"status {status}": _status(status) for status in (400, 401, 404, 413, 429, 500, 502, 503)},
    "a status without a body": b"HTTP/1.1 500 X\r\ncontent-length: 100\r\n\r\n",
}


@pytest.fixture
def endpoint() -> Iterator[tuple[str, Counter[str]]]:
    """The address of an endpoint that fails by chance, and how often it did what."""
    done: Counter[str] = Counter()
    chance = random.Random(1)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection, chance.choice(list(FAULTS)))).start()

    def answer(connection: socket.socket, fault: str) -> None:
        with connection:
            connection.settimeout(10)
            try:
                asked = b""
                while b"\r\n\r\n" not in asked:
                    asked += connection.recv(65536)
                head, _, body = asked.partition(b"\r\n\r\n")
                [length] = [
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                ]
                while len(body) < length:
                    body += connection.recv(65536)
                done[fault] += 1
                connection.sendall(FAULTS[fault])
            except OSError:
                done["left"] += 1

    threading.Thread(target=serve, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", done
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def held() -> int:
    gc.collect()
    return len(list(OPEN.iterdir()))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not OPEN.is_dir(), reason="there is no /proc here")
def test_every_failure_ends_in_an_answer_and_leaves_nothing_open(
    listen: Callable[..., Any], endpoint: tuple[str, Counter[str]]
) -> None:
    address, done = endpoint
    model = EndpointChatModel(model="m", base_url=address, max_retries=0, limits=Limits(silence_s=5, budget_s=10))
    served = listen(model=model, rate_limit="")
    headers = {"authorization": f"Bearer {served.house.key('ann')}"}
    answered: Counter[int | str] = Counter()

    def call(number: int) -> None:
        body = {"request": f"Tell Bo of boat {number}.", "stream": number % 2 == 0}
        answer = client.post(f"{served.address}/v1/drafts", json=body, headers=headers)
        if not body["stream"] or answer.status_code != 200:
            assert answer.status_code == 200 or answer.json()["error"]["code"], answer.text
            answered[answer.status_code] += 1
        else:
            last = answer.text.strip().rpartition("\n\n")[2]
            assert last.startswith(("event: draft\n", "event: error\n")), last
            assert json.loads(last.partition("data: ")[2])
            answered[last.partition("\n")[0]] += 1

    with httpx2.Client(timeout=60, trust_env=False) as client, ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(20)))
        before = held()
        list(threads.map(call, range(CALLS)))
        after = held()
    assert len(done) >= len(FAULTS) - 3, done
    assert answered[200]
    assert answered[502]
    assert 500 not in answered
    assert after <= before + 16  # as many as there are clients, on both ends
    assert served.house.app.state.admission.inside == 0
