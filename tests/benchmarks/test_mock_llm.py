from __future__ import annotations

import asyncio
import json
from itertools import count
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from benchmarks.load_client import Outcome, Plan, carry_out
from benchmarks.mock_llm import KEPT, TOKENS, WORDS, MockLLM


@pytest.mark.parametrize("pace_s", [0.0, 0.001])
def test_the_mock_answers_as_an_endpoint_does_and_tells_of_its_calls(pace_s: float) -> None:
    client = TestClient(MockLLM(pace_s))
    answer = client.post("/v1/chat/completions", json={"model": "mock", "messages": [], "stream": True})
    events = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    deltas = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    assert "".join(deltas) == WORDS
    assert chunks[-1]["usage"]["completion_tokens"] == len(TOKENS)
    [call] = client.get("/calls").json()
    assert json.loads(call["body"])["model"] == "mock"
    assert call["milliseconds"] > 0
    whole = client.post("/v1/chat/completions", json={"model": "mock"}).json()
    assert whole["choices"][0]["message"]["content"] == WORDS
    client.get("/calls")
    assert client.get("/calls").json() == []


def test_the_mock_forgets_old_calls() -> None:
    client = TestClient(MockLLM())
    for number in range(KEPT + 2):
        client.post("/v1/chat/completions", json={"number": number})
    calls = client.get("/calls").json()
    assert [calls[0]["body"], len(calls)] == ['{"number":2}', KEPT]


def test_clients_count_calls_that_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter=count().__next__)  # a second a look
    monkeypatch.setattr("benchmarks.load_client.time", clock)
    plan = Plan("http://127.0.0.1:9/", {}, [{}], "", clients=1, seconds=3)
    outcome = asyncio.run(carry_out(plan))
    assert isinstance(outcome, Outcome)
    assert outcome.milliseconds == []
    assert outcome.errors == {"ConnectError": 2}
