"""What the service needs to start and to keep, and what eight clients at once wait for.

* ready: from the start of the process until ``/health/ready`` says so, embedded models loaded;
* memory: what the process holds after 30 drafts for 20 users, with the embedded chat model, and with an endpoint in
  its place. The drafts of the embedded one are kept short, for their length changes nothing here. A processor without
  bfloat16 holds the same models in more, so its goal is another;
* a draft: what one of these, of 24 tokens, takes, nearly all of it reading the prompt;
* eight clients, each sending its next request when the last is answered, to a service whose retriever reads 32
  documents with a cross-encoder of MiniLM size (random weights): the time of the stage ``retrieve``. Requests that ran
  out of their time (1 s) have the first stage's order and say so; their share is counted.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import Line, find_corpus, one_user
from benchmarks.draft_overhead import HISTORY, QUICK_HISTORY
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.processes import mocked, moved_in, of_mock, serving, wait_until_embedded, wait_until_ready, write_draft
from benchmarks.retrieval import QUICK_SHAPES, SHAPES, saved
from retriever.calibrated.artifact import CROSS_ENCODER, SHIPPED, SIGNALS, read_manifest, write_manifest
from retriever.models.graph import Arithmetic
from retriever.models.runtime import fastest

TITLE = "Starting, memory, and eight clients at once"
STARTS, QUICK_STARTS = 5, 1
CLIENTS, CALLS, QUICK_CALLS = 8, 40, 1  # calls of each client


@dataclass(frozen=True, slots=True)
class Size:
    """How much the service holds when its memory is taken. ``documents``: of each user."""

    users: int
    drafts: int
    documents: int


SIZE, QUICK_SIZE = Size(20, 30, 60), Size(2, 1, 1)


@dataclass(frozen=True, slots=True)
class Kept:
    """Seconds until it was ready and of each draft, and MiB after the drafts."""

    ready_s: list[float]
    draft_s: list[float]
    resident_mib: float


def measure(quick: bool) -> Measured:
    size, starts = (QUICK_SIZE, QUICK_STARTS) if quick else (SIZE, STARTS)
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        lines = corpus.lines()
        embedded = _memory(lines, size, starts, Path(folder) / "embedded", {"PEARL_LLM": "embedded"})
        with mocked(Path(folder)) as mock:
            endpoint = _memory(lines, size, starts, Path(folder) / "endpoint", of_mock(mock))
            waited, cut_short = _eight_clients(lines, mock, Path(folder) / "eight", quick)
    described = {
        "corpus": corpus.source,
        "users": size.users,
        "drafts": size.drafts,
        "documents_of_a_user": size.documents,
        "clients": CLIENTS,
        "calls": len(waited),
        "history_of_the_eight": QUICK_HISTORY if quick else HISTORY,
    }
    return Measured(starts, described, tuple(_figures(embedded, endpoint, waited, cut_short)))


def _memory(lines: Sequence[Line], size: Size, starts: int, scratch: Path, model: dict[str, str]) -> Kept:
    scratch.mkdir()
    some, names = _of_users(lines, size)
    environment, keys = moved_in(some, names, scratch)
    environment |= {"PEARL_MAX_DRAFT_TOKENS": "24"} | model
    requests = one_user(lines, 1, size.drafts).requests
    ready = []
    for start in range(starts):
        with serving(environment, scratch) as server:
            wait_until_ready(server)
            ready.append(time.perf_counter() - server.started)
            if start == starts - 1:
                wait_until_embedded(scratch)
                turns = zip(cycle(keys), requests, strict=False)
                drafts = [write_draft(server, key, {"request": request}) for key, request in turns]
                return Kept(ready, [draft["timings"]["total_ms"] / 1000 for draft in drafts], server.resident_mib)
    raise AssertionError("there is at least one start")


def _of_users(lines: Sequence[Line], size: Size) -> tuple[list[Line], list[str]]:
    """The first documents of the users with the most."""
    names = [name for name, _ in Counter(line["user_id"] for line in lines).most_common(size.users)]
    left = dict.fromkeys(names, size.documents)
    found = []
    for line in lines:
        if left.get(line["user_id"], 0) > 0:
            left[line["user_id"]] -= 1
            found.append(line)
    return found, names


def _eight_clients(lines: Sequence[Line], mock: str, scratch: Path, quick: bool) -> tuple[list[float], int]:
    """Milliseconds of each retrieval, and how many of them were cut short."""
    scratch.mkdir()
    calls = QUICK_CALLS if quick else CALLS
    person = one_user(lines, QUICK_HISTORY if quick else HISTORY, CLIENTS * calls)
    environment, (key,) = moved_in(person.history, [person.name], scratch)
    artifact = _artifact(scratch / "artifact", quick)
    with serving(environment | of_mock(mock) | {"PEARL_RETRIEVER": str(artifact)}, scratch) as server:
        wait_until_ready(server)
        wait_until_embedded(scratch)
        write_draft(server, key, {"request": "warm up"})
        with ThreadPoolExecutor(CLIENTS) as clients:
            bodies = ({"request": request} for request in person.requests)
            drafts = list(clients.map(partial(write_draft, server, key), bodies))
    notes = [note["code"] for draft in drafts for note in draft["retrieval"].get("notes", ())]
    return [draft["timings"]["retrieve_ms"] for draft in drafts], notes.count("time_limit")


def _artifact(folder: Path, quick: bool) -> Path:
    """The one that ships, with a cross-encoder of random weights beside it."""
    folder.mkdir()
    shutil.copy(SHIPPED / SIGNALS, folder / SIGNALS)
    saved((QUICK_SHAPES if quick else SHAPES)[0], folder / CROSS_ENCODER)
    shutil.rmtree(folder / f"{CROSS_ENCODER}-torch")
    write_manifest(folder, replace(read_manifest(SHIPPED), name="bench", files={}))
    return folder


def _figures(embedded: Kept, endpoint: Kept, waited: list[float], cut_short: int) -> Iterator[Figure]:
    yield over_repetitions("ready_s", "ready, embedded models", "s", embedded.ready_s, at_most=5)
    yield over_repetitions("ready_endpoint_s", "ready, chat model at an endpoint", "s", endpoint.ready_s)
    what = "memory after the drafts"
    yield over_repetitions("memory_mib", f"{what}, embedded models", "MiB", [embedded.resident_mib], at_most=700)
    most = 450 if fastest() is Arithmetic.FLOAT32 else 350
    yield over_repetitions(
        "memory_endpoint_mib", f"{what}, chat model at an endpoint", "MiB", [endpoint.resident_mib], at_most=most
    )
    yield over_repetitions("draft_s", "a short draft by the embedded model", "s", embedded.draft_s)
    p50, p99 = percentile(waited, 50), percentile(waited, 99)
    yield over_repetitions("eight_p50_ms", "eight clients: retrieval, p50", "ms", [p50])
    yield over_repetitions("eight_p99_ms", "eight clients: retrieval, p99", "ms", [p99])
    yield over_repetitions("eight_spread", "eight clients: p99 over p50", "x", [p99 / p50], at_most=3)
    share = 100 * cut_short / len(waited)
    yield over_repetitions("eight_cut_short", "eight clients: retrievals out of time", "%", [share])
