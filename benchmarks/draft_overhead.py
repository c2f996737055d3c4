"""What a draft costs besides the LLM: one client, one draft after the other, distinct requests.

The LLM is a mock on loopback that answers at once. After each draft the call that the service made to it is made
again, from here, through the same client class: that is what the same request costs with nothing around it.

* own overhead: what the client waits, less the mock's own time;
* API layer: what the client waits, less retrieve, prompt, and the repeated call. What is left is authentication,
  validation, the store and the relay of the answer, the client's own share of HTTP included.
"""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import uvloop

from benchmarks.corpus import OneUser, find_corpus, one_user
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.mock_llm import WORDS
from benchmarks.processes import House, get_json, served
from pearl.models.chat.base import Decoding, Message, complete
from pearl.models.chat.endpoint import EndpointChatModel

TITLE = "What a draft costs besides the LLM"
HISTORY = 590  # documents
REPETITIONS, DRAFTS, WARM_UP = 5, 300, 20
QUICK_HISTORY = 8
QUICK_REPETITIONS, QUICK_DRAFTS, QUICK_WARM_UP = 1, 5, 1
STAGES = ("retrieve", "prompt", "generate", "record")


@dataclass(frozen=True, slots=True)
class Timed:
    """One draft, milliseconds."""

    wall: float
    stages: dict[str, float]
    mock: float  # the mock's own time in it
    bare: float  # the same call without PEARL

    @property
    def overhead(self) -> float:
        return self.wall - self.mock

    @property
    def api(self) -> float:
        return self.wall - self.stages["retrieve"] - self.stages["prompt"] - self.bare


def measure(quick: bool) -> Measured:
    repetitions, drafts, warm_up = (
        (QUICK_REPETITIONS, QUICK_DRAFTS, QUICK_WARM_UP) if quick else (REPETITIONS, DRAFTS, WARM_UP)
    )
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        person = one_user(corpus.lines(), QUICK_HISTORY if quick else HISTORY, warm_up + repetitions * drafts)
        with served(person, Path(folder)) as house:
            # uvloop, because the service runs on it too
            timed = uvloop.run(_draft_all(house, person))[warm_up:]
    rounds = [timed[start : start + drafts] for start in range(0, len(timed), drafts)]
    described = {
        "corpus": corpus.source,
        "history_documents": len(person.history),
        "drafts": drafts,
        "mean_request_characters": round(sum(map(len, person.requests)) / len(person.requests)),
        "answer_words": len(WORDS.split()),
        "retriever": "embedded (the artifact that ships)",
    }
    return Measured(repetitions, described, tuple(_figures(rounds)))


async def _draft_all(house: House, person: OneUser) -> list[Timed]:
    address = urlsplit(house.pearl)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    bare = EndpointChatModel(model="mock", base_url=f"{house.mock}/v1", max_retries=0)
    timed = [await _time_one(house, connection, bare, request) for request in person.requests]
    connection.close()
    await bare.close()
    return timed


async def _time_one(
    house: House, connection: http.client.HTTPConnection, bare: EndpointChatModel, request: str
) -> Timed:
    body = json.dumps({"request": request, "revise": "never"})  # a revision would be a second call
    headers = {"Authorization": f"Bearer {house.key}", "Content-Type": "application/json"}
    # the standard library's client, because a richer one spends half a millisecond of its own
    started = time.perf_counter()
    connection.request("POST", "/v1/drafts", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    wall = (time.perf_counter() - started) * 1000
    draft = json.loads(content)
    assert answer.status == 200, content[:500]
    assert draft["text"] == WORDS
    stages = {name: draft["timings"][f"{name}_ms"] for name in STAGES}
    [call] = get_json(f"{house.mock}/calls")
    bare_ms = await _time_bare(bare, json.loads(call["body"]))
    get_json(f"{house.mock}/calls")
    return Timed(wall, stages, call["milliseconds"], bare_ms)


async def _time_bare(model: EndpointChatModel, body: dict[str, Any]) -> float:
    """The call that the service made, with nothing around it."""
    messages = [Message(**message) for message in body["messages"]]
    decoding = Decoding(body["max_tokens"], body["temperature"], body["top_p"], tuple(body["stop"]))
    started = time.perf_counter()
    reply = await complete(model, messages, decoding)
    milliseconds = (time.perf_counter() - started) * 1000
    assert reply.text == WORDS
    return milliseconds


def _figures(rounds: list[list[Timed]]) -> list[Figure]:
    """p50 and p99 of each round, then the median over the rounds."""

    def figure(name: str, label: str, percent: int, values: list[list[float]], at_most: float | None = None) -> Figure:
        of_rounds = [percentile(each, percent) for each in values]
        return over_repetitions(f"{name}_p{percent}", f"{label}, p{percent}", "ms", of_rounds, at_most=at_most)

    columns = {
        "overhead": ("own overhead", [[timed.overhead for timed in each] for each in rounds]),
        "api": ("of it the API layer", [[timed.api for timed in each] for each in rounds]),
        **{stage: (f"stage {stage}", [[timed.stages[stage] for timed in each] for each in rounds]) for stage in STAGES},
        "wall": ("what the client waits", [[timed.wall for timed in each] for each in rounds]),
        "bare": ("the same call to the bare mock", [[timed.bare for timed in each] for each in rounds]),
        "mock": ("the mock's own time", [[timed.mock for timed in each] for each in rounds]),
    }
    goals = {"overhead": 25.0, "api": 3.0}
    return [
        figure(name, label, percent, values, goals.get(name) if percent == 50 else None)
        for name, (label, values) in columns.items()
        for percent in (50, 99)
    ]
