"""64 clients at once for a minute: drafts by ``pearl serve`` with the mock LLM behind it, then the mock alone.

Client, service and mock share the machine. The clients never pause, so the latency is mostly waiting for the others:
64 clients at a throughput of T wait 64 / T seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpus import find_corpus, one_user
from benchmarks.draft_overhead import HISTORY, QUICK_HISTORY
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.load_client import Outcome, Plan
from benchmarks.machine import ROOT
from benchmarks.mock_llm import TOKENS, WORDS
from benchmarks.processes import House, get_json, served

TITLE = "64 clients at once"
CLIENTS, QUICK_CLIENTS = 64, 8
REPETITIONS, SECONDS = 3, 60.0
QUICK_REPETITIONS, QUICK_SECONDS = 1, 0.5
WARM_UP_S, QUICK_WARM_UP_S = 2.0, 0.1
REQUESTS = 8_000  # distinct ones, more than a repetition gets through
PERCENTS = (50, 90, 99)


def measure(quick: bool) -> Measured:
    repetitions, seconds = (QUICK_REPETITIONS, QUICK_SECONDS) if quick else (REPETITIONS, SECONDS)
    clients = QUICK_CLIENTS if quick else CLIENTS
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        person = one_user(corpus.lines(), QUICK_HISTORY if quick else HISTORY, REQUESTS)
        bodies = [{"request": request} for request in person.requests]
        drafted, alone = [], []
        with served(person, Path(folder)) as house:
            load(on_pearl(house, bodies, clients, QUICK_WARM_UP_S if quick else WARM_UP_S))
            calls = [json.loads(call["body"]) for call in get_json(f"{house.mock}/calls")]
            for _ in range(repetitions):
                drafted.append(load(on_pearl(house, bodies, clients, seconds)))
                alone.append(load(_on_mock(house, calls, clients, seconds)))
    described = {
        "corpus": corpus.source,
        "history_documents": len(person.history),
        "clients": clients,
        "seconds": seconds,
        "worker_processes": 1,
        "errors": [outcome.errors for outcome in (*drafted, *alone)],
    }
    figures = (*_figures("drafts", "drafts", drafted), *_figures("mock", "bare mock", alone))
    return Measured(repetitions, described, figures)


def on_pearl(house: House, bodies: list[dict[str, Any]], clients: int, seconds: float) -> Plan:
    headers = {"Authorization": f"Bearer {house.key}"}
    return Plan(f"{house.pearl}/v1/drafts", headers, bodies, WORDS, clients, seconds)


def _on_mock(house: House, calls: list[dict[str, Any]], clients: int, seconds: float) -> Plan:
    """The calls that the service made, made without it; the answer is a stream of tokens."""
    return Plan(f"{house.mock}/v1/chat/completions", {}, calls, json.dumps(TOKENS[-1]), clients, seconds)


def load(plan: Plan) -> Outcome:
    client = [sys.executable, "-m", "benchmarks.load_client"]
    done = subprocess.run(
        client,
        input=json.dumps(asdict(plan)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=plan.seconds + 120,
    )
    return Outcome(**json.loads(done.stdout))


def _figures(name: str, label: str, outcomes: list[Outcome]) -> list[Figure]:
    errors = [float(sum(outcome.errors.values())) for outcome in outcomes]
    rates = [len(outcome.milliseconds) / outcome.seconds for outcome in outcomes]
    return [
        over_repetitions(f"{name}_errors", f"{label}: errors", "calls", errors, at_most=0),
        over_repetitions(f"{name}_calls", f"{label}: calls", "calls", [len(done.milliseconds) for done in outcomes]),
        over_repetitions(f"{name}_per_second", f"{label}: throughput", "calls/s", rates),
        *(
            over_repetitions(
                f"{name}_p{percent}",
                f"{label}: latency, p{percent}",
                "ms",
                [percentile(outcome.milliseconds, percent) for outcome in outcomes],
            )
            for percent in PERCENTS
        ),
    ]
