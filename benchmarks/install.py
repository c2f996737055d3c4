"""How long a newcomer waits: from a fresh clone, with nothing installed, to the first draft of the sample user.

What `make serve` does, step by step: the environment that serves, installed from the package index that pip is set up
with and without pip's cache, then the service until it is ready, then the README's second command beside it. A quick
run installs nothing: it links the environment that it runs in, and its draft is short, from one document.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Measured, over_repetitions
from benchmarks.machine import ROOT
from benchmarks.processes import answers, run, serving, wait_until
from service.sample import REQUEST, USER

TITLE = "From a fresh clone to the first draft"
REPETITIONS = 3
TOTAL_S, ENVIRONMENT_MB = 120, 900  # goals


@dataclass(frozen=True, slots=True)
class Arrival:
    """One newcomer's way: seconds of each step, and the size of the environment."""

    clone_s: float
    install_s: float
    ready_s: float
    draft_s: float
    environment_mb: float

    @property
    def total_s(self) -> float:
        return self.clone_s + self.install_s + self.ready_s + self.draft_s


def measure(quick: bool) -> Measured:
    arrivals = [_arrive(quick) for _ in range(1 if quick else REPETITIONS)]
    figures = (
        _figure("total_s", "from the clone to the first draft", "s", arrivals, TOTAL_S),
        _figure("clone_s", "of it, cloning", "s", arrivals),
        _figure("install_s", "of it, installing", "s", arrivals),
        _figure("ready_s", "of it, until the service is ready", "s", arrivals),
        _figure("draft_s", "of it, the draft", "s", arrivals),
        _figure("environment_mb", "the environment, with the weights of both models", "MB", arrivals, ENVIRONMENT_MB),
    )
    return Measured(len(arrivals), {"corpus": "the sample user", "request": REQUEST}, figures)


def _figure(name: str, label: str, unit: str, arrivals: list[Arrival], goal: float | None = None) -> Figure:
    return over_repetitions(name, label, unit, [getattr(arrival, name) for arrival in arrivals], at_most=goal)


def _arrive(quick: bool) -> Arrival:
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        scratch = Path(folder)
        clone, environment = scratch / "clone", {"PEARL_HOME": str(scratch / "home"), "PIP_NO_CACHE_DIR": "1"}
        cloned = run(["git", "clone", "--quiet", str(ROOT), str(clone)], {})
        started = time.perf_counter()
        if quick:
            (clone / ".venv").symlink_to(sys.prefix)
            environment |= {"PEARL_MAX_DRAFT_TOKENS": "16"}
            short = ["-k", "1"]
        else:
            run(["make", "--directory", str(clone), ".venv/package.stamp"], environment)
            short = []
        installed = time.perf_counter()
        size = sum(file.lstat().st_size for file in (clone / ".venv").resolve().rglob("*") if file.is_file())
        pearl = str(clone / ".venv" / "bin" / "pearl")
        with serving(environment, scratch, pearl, "--sample") as server:
            wait_until(lambda: answers(f"{server.address}/health/ready"))
            ready_s = time.perf_counter() - server.started
            draft = run([pearl, "draft", REQUEST, "--user", USER, "--voice", "email", *short], environment)
    return Arrival(cloned.seconds, installed - started, ready_s, draft.seconds, size / 1e6)
