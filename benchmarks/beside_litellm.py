"""Drafts by ``pearl serve`` beside plain answers by LiteLLM's proxy, one worker each, the same mock LLM behind both.

A draft is more work: it ranks 590 texts of the person, makes a prompt of the best, reads the answer, finds its claims
and records all of it; the proxy hands the answer on. LiteLLM is no dependency of ours: install it in an environment of
its own (``pip install 'litellm[proxy]==1.108.7'``) and name its program in ``LITELLM``.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import find_corpus, one_user
from benchmarks.draft_overhead import HISTORY, QUICK_HISTORY
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.load import REQUESTS, load, on_pearl
from benchmarks.load_client import Outcome, Plan
from benchmarks.mock_llm import WORDS
from benchmarks.processes import Server, answers, listening, process_mib, served, wait_until

PROGRAM = shutil.which(os.environ.get("LITELLM", "litellm"))
TITLE = "Beside a proxy that only hands requests on"
CLIENTS, QUICK_CLIENTS = (1, 32, 64), (1, 2)
REPETITIONS, SECONDS = 3, 20.0
QUICK_REPETITIONS, QUICK_SECONDS = 1, 0.5
KEY = "sk-benchmark"


def measure(quick: bool) -> Measured:
    repetitions, seconds = (QUICK_REPETITIONS, QUICK_SECONDS) if quick else (REPETITIONS, SECONDS)
    clients = QUICK_CLIENTS if quick else CLIENTS
    if PROGRAM is None:
        sys.exit("There is no litellm: install 'litellm[proxy]' in an environment of its own, and set LITELLM.")
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        scratch = Path(folder)
        corpus = find_corpus(scratch)
        person = one_user(corpus.lines(), QUICK_HISTORY if quick else HISTORY, REQUESTS)
        with served(person, scratch) as house, proxy(PROGRAM, house.mock, scratch) as other:
            bodies = [{"request": request} for request in person.requests]
            chats = [{"model": "mock", "messages": [{"role": "user", "content": text}]} for text in person.requests]
            plans = {
                "pearl": on_pearl(house, bodies, 1, seconds),
                "proxy": Plan(
                    f"{other.address}/v1/chat/completions", {"Authorization": f"Bearer {KEY}"}, chats, WORDS, 1, seconds
                ),
            }
            for plan in plans.values():
                load(plan.of(clients=2, seconds=seconds / 5))
            outcomes: dict[tuple[str, int], list[Outcome]] = {}
            for _ in range(repetitions):
                for number in clients:
                    for name, plan in plans.items():
                        outcomes.setdefault((name, number), []).append(load(plan.of(number, seconds)))
            memory = {"pearl": process_mib(house.pid), "proxy": other.resident_mib}
    described = {
        "corpus": corpus.source,
        "history_documents": len(person.history),
        "seconds": seconds,
        "worker_processes": 1,
        "errors": [outcome.errors for some in outcomes.values() for outcome in some],
    }
    return Measured(repetitions, described, tuple(_figures(clients, outcomes, memory)))


def _figures(
    clients: Sequence[int], outcomes: dict[tuple[str, int], list[Outcome]], memory: dict[str, float]
) -> Iterator[Figure]:
    labels = {"pearl": "drafts", "proxy": "answers by the proxy"}
    for number in clients:
        at = "1 client" if number == 1 else f"{number} clients"
        for name, label in labels.items():
            some = outcomes[name, number]
            rates = [len(outcome.milliseconds) / outcome.seconds for outcome in some]
            halves = [percentile(outcome.milliseconds, 50) for outcome in some]
            tails = [percentile(outcome.milliseconds, 99) for outcome in some]
            yield over_repetitions(f"{name}_{number}_per_second", f"{at}: {label}", "calls/s", rates)
            yield over_repetitions(f"{name}_{number}_p50", f"{at}: {label}, p50", "ms", halves)
            yield over_repetitions(f"{name}_{number}_p99", f"{at}: {label}, p99", "ms", tails)
        pairs = list(zip(outcomes["pearl", number], outcomes["proxy", number], strict=True))
        if number == 1:
            ratios = [percentile(ours.milliseconds, 50) / percentile(theirs.milliseconds, 50) for ours, theirs in pairs]
            yield over_repetitions("p50_ratio", f"{at}: p50 by the proxy's", "times", ratios, at_most=1)
        else:
            ratios = [len(ours.milliseconds) / len(theirs.milliseconds) for ours, theirs in pairs]
            yield over_repetitions(f"{number}_ratio", f"{at}: drafts by its answers", "times", ratios, at_least=2)
            spread = [percentile(ours.milliseconds, 99) / percentile(ours.milliseconds, 50) for ours, _ in pairs]
            yield over_repetitions(f"{number}_tail", f"{at}: drafts, p99 by p50", "times", spread, at_most=2)
    for name, label in labels.items():
        yield over_repetitions(f"{name}_mib", f"memory: {label}", "MiB", [memory[name]])
    yield over_repetitions(
        "mib_ratio", "memory by the proxy's", "times", [memory["pearl"] / memory["proxy"]], at_most=1
    )


@contextmanager
def proxy(program: str, mock: str, scratch: Path) -> Iterator[Server]:
    """LiteLLM's proxy before the mock LLM."""
    named = {"model": "openai/mock", "api_base": f"{mock}/v1", "api_key": "none"}
    settings = {
        "model_list": [{"model_name": "mock", "litellm_params": named}],
        "general_settings": {"master_key": KEY},
    }
    config = scratch / "litellm.yaml"
    config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    with listening(command, {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}, scratch / "litellm.log") as server:
        wait_until(lambda: answers(f"{server.address}/health/liveliness"))
        yield server
