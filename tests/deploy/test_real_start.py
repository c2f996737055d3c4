"""The containers' own start command, run for real: PostgreSQL, two worker processes, an LLM endpoint on loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, create_engine, text

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
DOCUMENTS = [
    {"id": "tea", "text": "Kettle's on. See you at ten, bring the good biscuits.", "request": "When do we meet?"},
    {"id": "rails", "text": "The costume rails are booked until Friday; ask Nan."},
    {"id": "shed", "text": "The shed key hangs behind the door, as ever."},
]


@dataclass
class Running:
    """The service, started as its container starts it."""

    process: psutil.Popen
    address: str
    port: int
    key: str
    operators_key: str  # for /metrics
    environment: dict[str, str]
    health_checks: list[list[str]]

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> httpx2.Response:
        """On a connection of its own, so that any worker may answer."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        # without certificates, which take 30 ms to read
        return httpx2.request(method, self.address + path, json=body, headers=headers, timeout=60, verify=False)

    def workers(self) -> list[psutil.Process]:
        """Of its children, those that serve."""
        return [child for child in self.process.children() if "spawn_main" in " ".join(child.cmdline())]

    def metrics_folder(self) -> Path:
        return Path(self.workers()[0].environ()["PROMETHEUS_MULTIPROC_DIR"])

    def answered(self) -> set[int]:
        """The workers that have answered a request; each counts in a file of its own, which is named by its pid."""
        return {int(path.stem.removeprefix("counter_")) for path in self.metrics_folder().glob("counter_*.db")}

    def count(self, route: str) -> float:
        """How many requests all workers together have answered there."""
        families = text_string_to_metric_families(self.call("GET", "/metrics", key=self.operators_key).text)
        samples = [sample for family in families for sample in family.samples]
        return sum(
            sample.value
            for sample in samples
            if sample.name == "pearl_http_requests_total" and sample.labels["route"] == route
        )


def run(words: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment_of(database_url: str, home: Path, **settings: str) -> dict[str, str]:
    """Ours without any setting of whoever runs the tests."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PEARL_", "PROMETHEUS_"))}
    path = f"{BIN}{os.pathsep}{inherited['PATH']}"
    return {**inherited, "PATH": path, "PEARL_HOME": str(home), "PEARL_DATABASE_URL": database_url, **settings}


def free_port() -> int:
    """A port that is free, and not one of those that the system may give to another program until it is used."""
    for port in range(20_000 + os.getpid() % 10_000, 32_768):
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@pytest.fixture(scope="module")
def deployed_url(postgres_server: Engine) -> Iterator[str]:
    """An empty database, as the compose file's is at first."""
    with postgres_server.connect() as connection:
        connection.execute(text("CREATE DATABASE deployed"))
    yield postgres_server.url.set(database="deployed").render_as_string(hide_password=False)
    with postgres_server.connect() as connection:
        connection.execute(text("DROP DATABASE deployed WITH (FORCE)"))


@pytest.fixture(scope="module")
def service(
    deployed_url: str,
    endpoint: Any,
    compose: dict[str, Any],
    containerfile: list[Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    (entrypoint,) = (instruction.words for instruction in containerfile if instruction.name == "ENTRYPOINT")
    (image_check,) = (instruction.value for instruction in containerfile if instruction.name == "HEALTHCHECK")
    declared = compose["services"]["pearl"]
    port = free_port()
    swapped = {"0.0.0.0": "127.0.0.1", "8000": str(port)}
    command = [*entrypoint, *(swapped.get(word, word) for word in declared["command"])]
    checks = [json.loads(image_check.partition("CMD ")[2]), declared["healthcheck"]["test"][1:]]

    folder = tmp_path_factory.mktemp("deployed")
    environment = environment_of(deployed_url, folder / "home", PEARL_LLM_BASE_URL=endpoint.url, PEARL_LLM_MODEL="mock")
    key, operators_key = (
        json.loads(run(["pearl", "keys", "create", *whose, "--json", "-"], environment))["key"]
        for whose in (["--user", "ada"], ["--service"])
    )
    log = folder / "log"
    with log.open("wb") as output:
        process = psutil.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        started = Running(
            process,
            f"http://127.0.0.1:{port}",
            port,
            key,
            operators_key,
            environment,
            [[word.replace("8000", str(port)) for word in words] for words in checks],
        )
        wait_until_ready(started, log)
        yield started
    finally:
        if process.poll() is None:
            for left in (*process.children(recursive=True), process):
                left.kill()
            process.wait()


def wait_until_ready(service: Running, log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and service.process.is_running():
        try:
            if service.call("GET", "/health/ready").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(f"it did not get ready:\n{log.read_text(errors='replace')}")


def revisions(url: str) -> list[str]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = list(connection.scalars(text("SELECT version_num FROM alembic_version")))
    engine.dispose()
    return found


def test_several_migrations_at_once_are_one(postgres_databases: Callable[[str], str], tmp_path: Path) -> None:
    url = postgres_databases("template1")
    environment = environment_of(url, tmp_path)
    processes = [
        subprocess.Popen(["pearl", "users", "list"], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=180)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert len(revisions(url)) == 1


def test_the_database_is_migrated_once(service: Running, deployed_url: str) -> None:
    assert len(revisions(deployed_url)) == 1


def test_two_workers_answer(service: Running) -> None:
    deadline = time.monotonic() + 180
    with ThreadPoolExecutor(8) as clients:
        while len(service.answered()) < 2 and time.monotonic() < deadline:
            answers = list(clients.map(lambda _: service.call("GET", "/health"), range(16)))
            assert {answer.status_code for answer in answers} == {200}
    assert service.answered() == {worker.pid for worker in service.workers()}
    assert len(service.answered()) == 2


def test_the_metrics_of_the_workers_are_on_no_disk_that_may_be_full(service: Running) -> None:
    """They are mapped into memory: without room for a page the kernel ends the worker."""
    assert service.metrics_folder().parent == Path("/dev/shm")


def test_the_declared_health_checks_pass(service: Running) -> None:
    """Repeated as they are declared to be: the other worker may still be loading its models."""
    for words in service.health_checks:
        deadline = time.monotonic() + 180
        while True:
            try:
                run(words, service.environment)
                break
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)


def test_a_draft_is_written_from_what_was_posted(service: Running, endpoint: Any) -> None:
    added = service.call("POST", "/v1/documents", {"documents": DOCUMENTS})
    assert (added.status_code, added.json()["created"]) == (201, 3)
    answer = service.call("POST", "/v1/drafts", {"request": "When do we meet for the biscuits?"})
    draft = answer.json()
    assert answer.status_code == 200, draft
    assert draft["text"] == endpoint.text
    assert "tea" in [document["id"] for document in draft["retrieval"]["documents"]]
    assert "bring the good biscuits" in endpoint.prompts[-1]


def test_metrics_add_up_over_the_workers(service: Running, until: Callable[[Callable[[], bool]], None]) -> None:
    before = service.count("/health")
    with ThreadPoolExecutor(8) as clients:
        list(clients.map(lambda _: service.call("GET", "/health"), range(40)))
    until(lambda: service.count("/health") - before >= 40)  # a call is counted when its answer is sent
    assert service.count("/health") - before == 40


def test_a_stop_ends_everything(service: Running, deployed_url: str, postgres_server: Engine) -> None:
    """The last of this file: it ends what the others use."""
    metrics = service.metrics_folder()
    family = [service.process, *service.process.children(recursive=True)]
    service.process.send_signal(signal.SIGTERM)
    _, left = psutil.wait_procs(family, timeout=60)
    assert not left
    assert service.process.returncode == 0
    assert not metrics.exists()
    with postgres_server.connect() as connection:
        open_ones = connection.scalar(text("SELECT count(*) FROM pg_stat_activity WHERE datname = 'deployed'"))
    assert open_ones == 0
