"""More clients at once than a worker takes: what is refused, and how evenly the others are served.

Each client calls again as soon as it is answered; one that is refused (503) waits as long as ``retry-after`` says, as
the clients of OpenAI do. The latencies are those of the calls that were answered. Client, service and mock share the
machine. Beside the setting as it comes stands one that refuses nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import find_corpus, one_user
from benchmarks.draft_overhead import HISTORY, QUICK_HISTORY
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.load import load, on_pearl
from benchmarks.load_client import Outcome
from benchmarks.processes import served
from pearl.settings import Settings

TITLE = "200 clients at once"
CLIENTS = 200
QUICK_PLACES, QUICK_CLIENTS = 4, 12
REPETITIONS, SECONDS = 3, 20.0
QUICK_REPETITIONS, QUICK_SECONDS = 1, 0.5
WARM_UP_S, QUICK_WARM_UP_S = 3.0, 0.1
REQUESTS = 4_000
MOST_SPREAD = 4


def measure(quick: bool) -> Measured:
    repetitions, seconds = (QUICK_REPETITIONS, QUICK_SECONDS) if quick else (REPETITIONS, SECONDS)
    clients = QUICK_CLIENTS if quick else CLIENTS
    failed: list[dict[str, int]] = []
    places = QUICK_PLACES if quick else Settings.model_fields["drafts_at_once"].default
    figures: list[Figure] = []
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        person = one_user(corpus.lines(), QUICK_HISTORY if quick else HISTORY, REQUESTS)
        bodies = [{"request": request} for request in person.requests]
        for most in (places, clients):
            scratch = Path(folder) / str(most)
            scratch.mkdir()
            with served(person, scratch, PEARL_DRAFTS_AT_ONCE=str(most)) as house:
                load(on_pearl(house, bodies, clients, QUICK_WARM_UP_S if quick else WARM_UP_S))
                outcomes = [load(on_pearl(house, bodies, clients, seconds)) for _ in range(repetitions)]
            failed += [done.errors for done in outcomes]
            figures += _figures(f"at_{most}", f"{most} drafts at once", outcomes, judged=most == places)
    described = {
        "corpus": corpus.source,
        "history_documents": len(person.history),
        "clients": clients,
        "seconds": seconds,
        "worker_processes": 1,
        "errors": failed,
    }
    return Measured(repetitions, described, tuple(figures))


def _figures(name: str, label: str, outcomes: list[Outcome], *, judged: bool) -> Iterator[Figure]:
    errors = [float(sum(done.errors.values())) for done in outcomes]
    yield over_repetitions(f"{name}_errors", f"{label}: errors", "calls", errors, at_most=0)
    refused = [100 * done.refused / (done.refused + len(done.milliseconds)) for done in outcomes]
    yield over_repetitions(f"{name}_refused", f"{label}: calls refused", "%", refused)
    rates = [len(done.milliseconds) / done.seconds for done in outcomes]
    yield over_repetitions(f"{name}_per_second", f"{label}: answered", "calls/s", rates)
    middle, tail = ([percentile(done.milliseconds, percent) for done in outcomes] for percent in (50, 99))
    yield over_repetitions(f"{name}_p50", f"{label}: latency, p50", "ms", middle)
    yield over_repetitions(f"{name}_p99", f"{label}: latency, p99", "ms", tail)
    spread = [high / low for low, high in zip(middle, tail, strict=True)]
    most = MOST_SPREAD if judged else None
    yield over_repetitions(f"{name}_spread", f"{label}: p99 over p50", "x", spread, at_most=most)
