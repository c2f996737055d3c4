"""Drafts by ``pearl serve`` and by a RAG service as LangChain's documentation builds one, one worker each.

Both get the same texts of one person, the same requests, the same encoder weights, the same mock LLM, and show it at
most the same number of texts. PEARL does more for a draft: it checks a key, ranks by a trained retriever, reads the
answer as a stream, finds its claims and records everything. LangChain is no dependency of ours: ``PACKAGES`` are
installed once, with the network, into a virtual environment in the user's cache folder.

* memory: what a service holds after the load; the RAG service runs the encoder in torch;
* a ratio: PEARL's figure by the RAG service's in the same repetition.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import find_corpus, one_user
from benchmarks.draft_overhead import HISTORY, QUICK_HISTORY
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.load import REQUESTS, load, on_pearl
from benchmarks.load_client import Outcome, Plan
from benchmarks.mock_llm import WORDS
from benchmarks.processes import Server, listening, process_mib, served
from pearl.text.templates import DEFAULT_TEMPLATE, load_template
from retriever.models.encoder import embedded_encoder_folder

TITLE = "Beside a service built with LangChain"
PACKAGES = (
    "langchain-core==1.8.3",
    "langchain-community==0.4.2",
    "langchain-huggingface==1.2.3",
    "langchain-openai==1.7.4",
)
CLIENTS, QUICK_CLIENTS = (1, 32, 64), (1, 2)
REPETITIONS, SECONDS = 3, 20.0
QUICK_REPETITIONS, QUICK_SECONDS = 1, 0.5
LABELS = {"pearl": "PEARL", "rag": "RAG"}
# the digest makes a new folder when the pins change, or the place of our packages, which the environment reads
_OURS = sysconfig.get_path("purelib")
_FOLDER = f"rag-{hashlib.sha256(' '.join((*PACKAGES, _OURS)).encode()).hexdigest()[:12]}"
ENVIRONMENT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pearl-benchmarks" / _FOLDER
INSTALLED = ENVIRONMENT / "installed"  # written last

Outcomes = dict[tuple[str, int], list[Outcome]]  # by service and number of clients, one a repetition


def measure(quick: bool) -> Measured:
    repetitions, seconds = (QUICK_REPETITIONS, QUICK_SECONDS) if quick else (REPETITIONS, SECONDS)
    clients = QUICK_CLIENTS if quick else CLIENTS
    python = environment()
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        scratch = Path(folder)
        corpus = find_corpus(scratch)
        person = one_user(corpus.lines(), QUICK_HISTORY if quick else HISTORY, REQUESTS)
        bodies = [{"request": request} for request in person.requests]
        with served(person, scratch) as house, rag(python, house.mock, scratch) as other:
            plans = {
                "pearl": on_pearl(house, bodies, 1, seconds),
                "rag": Plan(f"{other.address}/drafts", {}, bodies, WORDS, 1, seconds),
            }
            outcomes = _in_turn(plans, clients, repetitions)
            memory = {"pearl": process_mib(house.pid), "rag": other.resident_mib}
    described = {
        "corpus": corpus.source,
        "history_documents": len(person.history),
        "seconds": seconds,
        "worker_processes": 1,
        "texts_in_a_prompt": _shown(),
        "beside": ", ".join(PACKAGES),
        "errors": [outcome.errors for some in outcomes.values() for outcome in some],
    }
    return Measured(repetitions, described, tuple(_figures(clients, outcomes, memory)))


def environment() -> Path:
    """Return the Python of the environment with LangChain; install it first if it is missing."""
    python = ENVIRONMENT / "bin" / "python"
    if INSTALLED.exists():
        return python
    print(f"installing {', '.join(PACKAGES)} in {ENVIRONMENT} ...", file=sys.stderr, flush=True)
    venv.create(ENVIRONMENT, clear=True, with_pip=False)
    packages = sysconfig.get_path("purelib", vars={"base": str(ENVIRONMENT)})
    # ours are found after its own: torch is not installed twice, and other versions of a library come before ours
    Path(packages, "ours.pth").write_text(f"{_OURS}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *PACKAGES]
    if subprocess.run(pip, check=False).returncode:
        sys.exit(f"pip could not install {', '.join(PACKAGES)}, which this benchmark needs; its error is above.")
    INSTALLED.touch()
    return python


def rag(python: Path, mock: str, scratch: Path) -> AbstractContextManager[Server]:
    """Start the RAG service, on the history that was imported into PEARL, with the mock LLM behind it."""
    given = (str(scratch / "history.jsonl.gz"), str(embedded_encoder_folder()), mock, str(_shown()))
    settings = {"HF_HUB_OFFLINE": "1", "LANGSMITH_TRACING": "false"}
    return listening([str(python), "-m", "benchmarks.rag_service", *given], settings, scratch / "rag.log")


def _shown() -> int:
    """The most texts that PEARL shows in a prompt by default."""
    return load_template(DEFAULT_TEMPLATE).k


def _in_turn(plans: dict[str, Plan], clients: Sequence[int], repetitions: int) -> Outcomes:
    """Load the services in turn under each number of clients; every second repetition begins with the other one."""
    outcomes: Outcomes = {(name, number): [] for number in clients for name in plans}
    for plan in plans.values():
        load(replace(plan, clients=max(clients), seconds=plan.seconds / 5))  # starts threads, grows memory
    for repetition in range(repetitions):
        for number in clients:
            for name in sorted(plans, reverse=repetition % 2 == 1):
                outcomes[name, number].append(load(replace(plans[name], clients=number)))
    return outcomes


def _figures(clients: Sequence[int], outcomes: Outcomes, memory: dict[str, float]) -> Iterator[Figure]:
    for number in clients:
        at = "1 client" if number == 1 else f"{number} clients"
        for what, label, unit in (("per_second", "drafts", "calls/s"), ("p50", "p50", "ms"), ("p99", "p99", "ms")):
            values = {name: [_speed(outcome, what) for outcome in outcomes[name, number]] for name in LABELS}
            for name, some in values.items() if what != "p99" else ():
                yield over_repetitions(f"{name}_{number}_{what}", f"{at}: {label}, {LABELS[name]}", unit, some)
            ratios = [ours / theirs for ours, theirs in zip(*values.values(), strict=True)]
            yield over_repetitions(f"{number}_{what}_ratio", f"{at}: {label}, PEARL by RAG", "times", ratios)
    for name, label in LABELS.items():
        yield over_repetitions(f"{name}_mib", f"memory, {label}", "MiB", [memory[name]])
    yield over_repetitions("mib_ratio", "memory, PEARL by RAG", "times", [memory["pearl"] / memory["rag"]])


def _speed(outcome: Outcome, what: str) -> float:
    """Answers a second, or a percentile of the latency in milliseconds."""
    if what == "per_second":
        return len(outcome.milliseconds) / outcome.seconds
    return percentile(outcome.milliseconds, float(what.removeprefix("p")))
