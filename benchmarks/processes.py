"""The processes that are measured: the mock LLM and a real ``pearl serve`` on a fresh store."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.corpus import Line, OneUser, write_lines
from benchmarks.machine import ROOT
from service.store.database import Database
from service.store.keys import create_for_user

PEARL = str(Path(sys.executable).parent / "pearl")
PATIENCE_S = 300.0  # embedding a history takes half a minute, more on a machine at work


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended: how long it ran by the clock and on the processor, the most memory it had, its output."""

    seconds: float
    cpu_s: float
    peak_mib: float
    output: str


@dataclass(frozen=True, slots=True)
class House:
    """A service with one user's history in it, and the mock LLM behind it."""

    pearl: str  # http://127.0.0.1:port
    mock: str
    key: str
    pid: int  # of the service


@dataclass(frozen=True, slots=True)
class Server:
    """``started`` by the performance counter, seconds."""

    address: str
    pid: int
    started: float

    @property
    def resident_mib(self) -> float:
        """The memory that it and its children hold."""
        return process_mib(self.pid)


def process_mib(pid: int) -> float:
    """The memory that a process and its children hold."""
    process = psutil.Process(pid)
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True))) / 2**20


def run(command: Sequence[str], environment: dict[str, str]) -> Finished:
    """Run to the end and measure. Raises CalledProcessError when it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=_environment(environment), cwd=ROOT, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    # not Popen.wait: only the system call tells what this one child used
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    process.stdout.close()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output)
    return Finished(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


@contextmanager
def served(person: OneUser, scratch: Path, pace_s: float = 0.0, *options: str) -> Iterator[House]:
    """The mock LLM and a ``pearl serve`` that drafts with it, the person's history imported."""
    environment, keys = moved_in(person.history, [person.name], scratch)
    with mocked(scratch, pace_s) as mock, serving(environment | of_mock(mock), scratch, PEARL, *options) as server:
        wait_until_ready(server)
        wait_until_embedded(scratch)
        yield House(server.address, mock, keys[0], server.pid)


def moved_in(lines: Sequence[Line], users: Sequence[str], scratch: Path) -> tuple[dict[str, str], list[str]]:
    """A fresh store with these documents: the environment of a service on it, and a key of each of the users."""
    history = scratch / "history.jsonl.gz"
    write_lines(history, lines)
    environment = {"PEARL_HOME": str(scratch / "home"), "PEARL_RATE_LIMIT": ""}
    run([PEARL, "import", "jsonl", str(history), "--json", "-"], environment)
    # here and not by `pearl keys create`, which is another process a user
    with closing(Database(f"sqlite:///{scratch / 'home' / 'pearl.db'}")) as database, database.write() as connection:
        return environment, [create_for_user(connection, user) for user in users]


def of_mock(mock: str) -> dict[str, str]:
    """The environment of a service that drafts with the mock LLM."""
    return {"PEARL_LLM_BASE_URL": f"{mock}/v1", "PEARL_LLM_MODEL": "mock"}


@contextmanager
def mocked(scratch: Path, pace_s: float = 0.0) -> Iterator[str]:
    """The mock LLM's address; it takes ``pace_s`` for a token."""
    with listening([sys.executable, "-m", "benchmarks.mock_llm", str(pace_s)], {}, scratch / "mock.log") as server:
        yield server.address


@contextmanager
def serving(environment: dict[str, str], scratch: Path, pearl: str = PEARL, *options: str) -> Iterator[Server]:
    """A ``pearl serve`` from its first open port on."""
    with listening([pearl, "serve", "--port", "0", *options], environment, scratch / "pearl.log") as server:
        yield server


def wait_until_ready(server: Server) -> None:
    wait_until(lambda: answers(f"{server.address}/health/ready"))


def wait_until_embedded(scratch: Path) -> None:
    """Wait for the background work to end: every document has its embedding then."""

    def nothing_queued() -> bool:
        with closing(sqlite3.connect(scratch / "home" / "pearl.db")) as connection:
            return not connection.execute("SELECT count(*) FROM jobs").fetchone()[0]

    wait_until(nothing_queued)


@contextmanager
def listening(command: Sequence[str], environment: dict[str, str], log: Path) -> Iterator[Server]:
    """A server process, from its first open port until it is told to end."""
    started = time.perf_counter()
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=_environment(environment), cwd=ROOT)
        try:
            yield Server(f"http://127.0.0.1:{_port(process, log)}", process.pid, started)
        finally:
            process.terminate()
            process.wait(timeout=30)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port it listens on, which the system chose."""
    ports: list[int] = []

    def listens() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended: {log.read_text(encoding='utf-8')[-2000:]}")
        connections = psutil.Process(process.pid).net_connections("tcp")
        ports.extend(found.laddr.port for found in connections if found.status == psutil.CONN_LISTEN)
        return bool(ports)

    wait_until(listens)
    return ports[0]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"a server was not ready after {PATIENCE_S:g} s")
        time.sleep(0.05)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        error.close()  # it is the answer, whose connection is still open
        return False
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def get_json(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def write_draft(server: Server, key: str, body: dict[str, Any]) -> Any:
    """Ask the service for a draft."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"{server.address}/v1/drafts", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=600) as answer:
        return json.load(answer)


def _environment(ours: dict[str, str]) -> dict[str, str]:
    """Without settings of the person who runs this, and without proxies: everything is on this machine."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PEARL_") and not name.lower().endswith("_proxy")
    }
    return kept | ours
