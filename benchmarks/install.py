"""How long a newcomer waits: from a fresh clone, with nothing installed, to the first draft of the sample user.

What `make serve` does, step by step: the environment that serves, installed from the package index that pip is set up
with and without pip's cache, the default model, then the service until it is ready, then the call that its welcome
prints. A quick run installs and fetches nothing: it links the environment that it runs in, and SmolLM2's draft is
short, from one document.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Measured, over_repetitions
from benchmarks.machine import ROOT
from benchmarks.processes import run, serving, wait_until_ready, write_draft
from pearl.weights.table import DEFAULT, SMALLEST
from service.sample import REQUEST

TITLE = "From a fresh clone to the first draft"
REPETITIONS = 3
TOTAL_S, DISK_MB, ENVIRONMENT_MB, MEMORY_MB = 120, 2000, 900, 2200  # goals


@dataclass(frozen=True, slots=True)
class Arrival:
    """One newcomer's way: seconds of each step, the disk it takes, and the memory of the service after the draft."""

    clone_s: float
    install_s: float
    fetch_s: float
    ready_s: float
    draft_s: float
    environment_mb: float
    home_mb: float
    memory_mb: float

    @property
    def total_s(self) -> float:
        return self.clone_s + self.install_s + self.fetch_s + self.ready_s + self.draft_s

    @property
    def disk_mb(self) -> float:
        return self.environment_mb + self.home_mb


def measure(quick: bool) -> Measured:
    arrivals = [_arrive(quick) for _ in range(1 if quick else REPETITIONS)]
    figures = (
        _figure("total_s", "from the clone to the first draft", "s", arrivals, TOTAL_S),
        _figure("clone_s", "of it, cloning", "s", arrivals),
        _figure("install_s", "of it, installing", "s", arrivals),
        _figure("fetch_s", "of it, fetching the default model", "s", arrivals),
        _figure("ready_s", "of it, until the service is ready", "s", arrivals),
        _figure("draft_s", "of it, the draft", "s", arrivals),
        _figure("disk_mb", "the environment and PEARL_HOME", "MB", arrivals, DISK_MB),
        _figure("environment_mb", "of it, the environment", "MB", arrivals, ENVIRONMENT_MB),
        _figure("memory_mb", "memory of the service after the draft", "MB", arrivals, MEMORY_MB),
    )
    model = SMALLEST.name if quick else DEFAULT
    return Measured(len(arrivals), {"corpus": "the sample user", "model": model, "request": REQUEST}, figures)


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
            environment |= {"PEARL_MAX_DRAFT_TOKENS": "16", "PEARL_LLM_MODEL": SMALLEST.name}
        else:
            run(["make", "--directory", str(clone), ".venv/package.stamp"], environment)
        installed = time.perf_counter()
        pearl = str(clone / ".venv" / "bin" / "pearl")
        if not quick:
            run([pearl, "models", "get", DEFAULT], environment)
        fetched = time.perf_counter()
        with serving(environment, scratch, pearl, "--sample") as server:
            wait_until_ready(server)
            ready = time.perf_counter()
            key = (scratch / "home" / "sample.key").read_text().strip()
            # as the welcome says
            write_draft(server, key, {"request": REQUEST, "voice": "email"} | ({"k": 1} if quick else {}))
            return Arrival(
                cloned.seconds,
                installed - started,
                fetched - installed,
                ready - server.started,
                time.perf_counter() - ready,
                _megabytes((clone / ".venv").resolve()),
                _megabytes(scratch / "home"),
                server.resident_mib * 2**20 / 1e6,
            )


def _megabytes(folder: Path) -> float:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
