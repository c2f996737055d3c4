"""What bodies that are made to hurt cost the others: the time that ``/health`` waits, and the memory that is taken.

Each body is sent four times at once, three rounds of it, to ``pearl serve`` with the mock LLM behind it, while
``/health`` is asked every few milliseconds. Beside the longest wait stands that of a service without any such body:
client and service share the machine, so some milliseconds are the machine's.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import psutil

from benchmarks.corpus import find_corpus, one_user
from benchmarks.figures import Figure, Measured, over_repetitions
from benchmarks.processes import House, get_json, served

TITLE = "Bodies that are made to hurt"
AT_ONCE, ROUNDS = 4, 3
QUICK_AT_ONCE, QUICK_ROUNDS, QUICK_PART = 1, 1, 20
HISTORY = 20
PAUSE_S = 0.005
MOST_MS, MOST_MIB = 100, 100


@dataclass(frozen=True, slots=True)
class Attack:
    """A body that is sent; ``status`` is what the service answers to it, 0 where it hangs up."""

    name: str
    label: str
    path: str
    body: Callable[[int], bytes]  # of a part of its size
    with_key: bool = True


def _nested(part: int) -> bytes:
    return b'{"request":[' + b"[]," * (5_200_000 // part) + b"[]]}"


def _zeros(part: int) -> bytes:
    return b'{"model":"pearl","messages":[' + b"0," * (1_000_000 // part) + b"0]}"


def _wide(part: int) -> bytes:
    """The most values that a conversation may have, each of them wrong."""
    return b'{"model":"pearl","messages":[' + b"0," * (39_990 // part) + b"0]}"


def _texts(part: int) -> bytes:
    """The most bytes of a route, in texts that take four times as many in memory: one letter of them is wide."""
    text = "🜂".encode() + b"a" * (970_000 // part)
    return b'{"documents":[' + b",".join(b'{"text":"' + text + b'"}' for _ in range(8)) + b"]}"


def _escapes(part: int) -> bytes:
    return b'{"request":"' + b"\\u00e9" * (660_000 // part) + b'"}'


def _ranked(part: int) -> bytes:
    """The most text that can be ranked at once."""
    texts = [f"document {number} " + "mind the tide and the kettle " * 260 for number in range(260 // part)]
    return json.dumps({"query": "the tide", "documents": texts}).encode()


ATTACKS = (
    Attack("no_key", "15.6 MB of empty lists, without a key", "/v1/drafts", _nested, with_key=False),
    Attack("nested", "15.6 MB of empty lists, with a key", "/v1/drafts", _nested),
    Attack("zeros", "2 MB of a million zeros in `messages`", "/v1/chat/completions", _zeros),
    Attack("wide", "as many wrong values as are allowed", "/v1/chat/completions", _wide),
    Attack("escapes", "4 MB of escapes in one text", "/v1/drafts", _escapes),
    Attack("texts", "8 MB of texts to keep", "/v1/documents", _texts),
    Attack("ranked", "2 MB of documents to rank", "/v1/rerank", _ranked),
)


@dataclass
class Watch:
    """The waits of ``/health`` and the memory of the process, until it is told to end."""

    house: House
    waits_ms: list[float] = field(default_factory=list)
    most_mib: float = 0.0

    def __enter__(self) -> Watch:
        self._over = threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._ask, self._weigh)]
        self.before_mib = self._resident()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _resident(self) -> float:
        return float(psutil.Process(self.house.pid).memory_info().rss) / 2**20

    def _weigh(self) -> None:
        while not self._over.is_set():
            self.most_mib = max(self.most_mib, self._resident())
            time.sleep(PAUSE_S)

    def _ask(self) -> None:
        connection = http.client.HTTPConnection(urlsplit(self.house.pearl).netloc, timeout=60)
        while not self._over.is_set():
            started = time.perf_counter()
            connection.request("GET", "/health")
            connection.getresponse().read()
            self.waits_ms.append((time.perf_counter() - started) * 1000)
            time.sleep(PAUSE_S)
        connection.close()


def measure(quick: bool) -> Measured:
    at_once, rounds, part = (QUICK_AT_ONCE, QUICK_ROUNDS, QUICK_PART) if quick else (AT_ONCE, ROUNDS, 1)
    figures: list[Figure] = []
    answers: dict[str, Any] = {}
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        person = one_user(find_corpus(Path(folder)).lines(), HISTORY, 4)
        with served(person, Path(folder)) as house:
            get_json(f"{house.pearl}/health")
            with Watch(house) as calm:
                time.sleep(0.1 if quick else 3)
            figures.append(over_repetitions("calm_ms", "`/health`, nobody else", "ms", [max(calm.waits_ms)]))
            for attack in ATTACKS:
                waits, grown, statuses = _attacked(house, attack, attack.body(part), at_once, rounds)
                answers[attack.name] = statuses
                figures += _figures(attack, waits, grown)
    return Measured(
        rounds, {"corpus": "made for it", "at_once": at_once, "answers": json.dumps(answers)}, tuple(figures)
    )


def _attacked(
    house: House, attack: Attack, body: bytes, at_once: int, rounds: int
) -> tuple[list[float], list[float], dict[str, int]]:
    """The longest wait of each round, milliseconds; how much the memory grew, MiB; the answers by status."""
    waits, grown, statuses = [], [], Counter[str]()
    for _ in range(rounds):
        with Watch(house) as watch, ThreadPoolExecutor(at_once) as senders:
            statuses.update(senders.map(lambda _: _send(house, attack, body), range(at_once)))
        waits.append(max(watch.waits_ms))
        grown.append(max(0.0, watch.most_mib - watch.before_mib))
    return waits, grown, dict(statuses)


def _send(house: House, attack: Attack, body: bytes) -> str:
    connection = http.client.HTTPConnection(urlsplit(house.pearl).netloc, timeout=300)
    headers = {"Content-Type": "application/json"}
    if attack.with_key:
        headers["Authorization"] = f"Bearer {house.key}"
    try:
        connection.request("POST", attack.path, body, headers)
        return str(connection.getresponse().status)
    except OSError:  # it answered and hung up while we were still sending
        return "closed"
    finally:
        connection.close()


def _figures(attack: Attack, waits: list[float], grown: list[float]) -> Iterator[Figure]:
    label = attack.label
    yield over_repetitions(f"{attack.name}_ms", f"{label}: longest `/health`", "ms", waits, at_most=MOST_MS)
    yield over_repetitions(f"{attack.name}_mib", f"{label}: more memory", "MiB", grown, at_most=MOST_MIB)
