"""Two servers, as two machines run them, on one PostgreSQL and one Redis: what one does holds in the other at once, and
each can be replaced while drafts are written. ``make endure`` replaces them five times during drafts that take longer
than a server waits by default, the suite once."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from sqlalchemy import Engine

from benchmarks.mock_llm import WORDS
from benchmarks.processes import PEARL, mocked, of_mock, serving, wait_until_ready
from service.store import calibrations, keys, users
from service.store.calibrations import CalibrationKey, StoredCalibration
from service.store.database import Database
from service.store.keys import KeyTerms
from tests.conftest import fresh_database
from tests.real_redis import RealRedis

pytestmark = pytest.mark.slow

LONG = os.environ.get("PEARL_ENDURE")
ROUNDS, CLIENTS, PACE_S, GRACE = (5, 16, 0.25, "30") if LONG else (1, 6, 0.02, "10")  # a draft has 60 words
LIMIT = 60  # requests of a key in an hour
DOCUMENTS = [{"id": f"d{number}", "text": f"At {number} the kettle's on, see you."} for number in range(20)]


@dataclass
class Servers:
    """Servers with homes of their own, by number, and what they share."""

    database: Database
    environment: dict[str, str]
    folder: Path
    counts_together: bool  # there is a Redis
    addresses: list[str] = field(default_factory=list)
    running: list[ExitStack] = field(default_factory=list)

    def start(self, number: int, port: str = "0") -> None:
        """Start the server of this number, until its stack is closed: then it gets a SIGTERM and has to end in time."""
        home = self.folder / str(number)
        home.mkdir(exist_ok=True)
        stack = ExitStack()
        environment = self.environment | {"PEARL_HOME": str(home)}
        server = stack.enter_context(serving(environment, home, PEARL, "--port", port, "--grace", GRACE))
        wait_until_ready(server)
        self.addresses[number : number + 1] = [server.address]
        self.running[number : number + 1] = [stack]

    def key(self, user: str, **terms: Any) -> str:
        with self.database.write() as connection:
            return keys.create_for_user(connection, user, terms=KeyTerms(**terms))

    def call(self, number: int, key: str, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {key}", **headers}
        return httpx2.request(
            method, self.addresses[number] + path, json=body, headers=headers, timeout=60, verify=False
        )

    def draft(self, number: int, key: str, **headers: str) -> httpx2.Response:
        return self.call(number, key, "POST", "/v1/drafts", {"request": "When do we meet?"}, **headers)


@contextmanager
def two_servers(admin: Engine, folder: Path, limit: str = "", pace_s: float = 0.0) -> Iterator[Servers]:
    """Two servers with a limit on the requests of a key; their chat model takes so long for each of its words."""
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database(admin))
        environment = {"PEARL_DATABASE_URL": url, "PEARL_RETRIEVER": "bm25", "PEARL_RATE_LIMIT": ""}
        environment |= of_mock(stack.enter_context(mocked(folder, pace_s)))
        if redis := shutil.which("redis-server") and RealRedis():
            stack.callback(redis.stop)
            environment |= {"PEARL_RATE_LIMIT": limit, "PEARL_RATE_LIMIT_STORAGE": redis.url}
        database = Database(url)
        stack.callback(database.close)
        servers = Servers(database, environment, folder, bool(redis))
        for number in range(2):
            servers.start(number)
        yield servers
        for running in servers.running:
            running.close()


@pytest.fixture(scope="module")
def servers(postgres_server: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with two_servers(postgres_server, tmp_path_factory.mktemp("servers"), f"{LIMIT}/hour") as made:
        yield made


def test_a_limit_is_of_all_servers(servers: Servers) -> None:
    if not servers.counts_together:
        pytest.skip("no redis-server on this machine: apt-get install redis-server")
    key = servers.key("limited")
    numbers = [0, 1] * (LIMIT // 2 + 5)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: servers.call(number, key, "GET", "/v1/voices"), numbers))
    assert Counter(answer.status_code for answer in answers) == {200: LIMIT, 429: len(numbers) - LIMIT}
    assert all(3500 < float(servers.draft(number, key).headers["retry-after"]) <= 3600 for number in (0, 1))


def test_a_key_that_is_revoked_opens_neither(servers: Servers) -> None:
    key = servers.key("revoked")
    assert [servers.call(number, key, "GET", "/v1/voices").status_code for number in (0, 1)] == [200, 200]
    with servers.database.write() as connection:
        keys.revoke(connection, keys.identify(connection, key).key_id)
    assert [servers.call(number, key, "GET", "/v1/voices").status_code for number in (0, 1)] == [401, 401]


def test_tokens_that_one_spends_are_missing_in_the_other(servers: Servers) -> None:
    key = servers.key("spender", tokens_per_day=500)
    assert [servers.draft(number, key).status_code for number in (0, 1, 0)] == [200, 429, 429]


@pytest.mark.parametrize(
    ("path", "body"), [("/v1/documents", {"text": "No id."}), ("/v1/drafts", {"request": "When do we meet?"})]
)
def test_a_call_under_an_idempotency_key_is_done_once(servers: Servers, path: str, body: Any) -> None:
    key = servers.key(f"once{path.replace('/', '-')}")
    called = {"Idempotency-Key": "one"}

    def call(number: int) -> httpx2.Response:
        return servers.call(number, key, "POST", path, body, **called)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, [0, 1] * 4))
    assert {answer.status_code for answer in answers} <= {200, 201, 409}  # 409: the first is under way
    done = [answer for answer in answers if answer.status_code != 409]
    assert sum("idempotent-replayed" not in answer.headers for answer in done) == 1
    later = [call(number) for number in (0, 1)]
    assert all(answer.headers["idempotent-replayed"] == "true" for answer in later)
    ids = [answer.json().get("id") or answer.json()["data"][0]["id"] for answer in (*done, *later)]
    assert len(set(ids)) == 1


def test_a_calibration_decides_the_next_draft_of_both(servers: Servers) -> None:
    key = servers.key("calibrated")
    decided = lambda number: servers.draft(number, key).json()["calibration"]  # noqa: E731
    assert [decided(number)["code"] for number in (0, 1)] == ["not_calibrated"] * 2
    combination = CalibrationKey(None, "bm25", "mock")
    for made in ("calibration_a", "calibration_b"):
        with servers.database.write() as connection:
            user = users.get(connection, "calibrated").id
            calibrations.put(connection, user, StoredCalibration(made, combination, {"k": 1}, {"texts": 40}))
        assert [(decided(number)["code"], decided(number)["id"]) for number in (0, 1)] == [("calibrated", made)] * 2


def test_what_one_stores_and_deletes_the_other_knows_at_once(servers: Servers) -> None:
    key = servers.key("writer")
    shown = lambda number: [found["id"] for found in servers.draft(number, key).json()["retrieval"]["documents"]]  # noqa: E731
    assert [shown(number) for number in (0, 1)] == [[], []]
    for at in (0, 1):
        servers.call(at, key, "POST", "/v1/documents", {"id": f"at{at}", "text": "When we meet: at ten."})
        assert all(f"at{at}" in shown(number) for number in (0, 1))
        servers.call(at, key, "DELETE", f"/v1/documents/at{at}")
        assert not any(f"at{at}" in shown(number) for number in (0, 1))
    assert servers.call(0, key, "DELETE", "/v1/me").status_code == 204
    assert [servers.draft(number, key).status_code for number in (0, 1)] == [401, 401]


def test_a_server_that_drains_is_not_ready_and_still_answers(servers: Servers, until: Callable[..., None]) -> None:
    home = servers.folder / "draining"
    home.mkdir()
    settings = {"PEARL_HOME": str(home), "PEARL_DRAIN_S": "3"}
    with serving(servers.environment | settings, home) as server:
        wait_until_ready(server)
        key, body = servers.key("drained"), {"request": "When do we meet?"}
        headers = {"Authorization": f"Bearer {key}"}
        os.kill(server.pid, signal.SIGTERM)
        until(lambda: httpx2.get(f"{server.address}/health/ready").json() == {"status": "stopping", "checks": {}})
        answer = httpx2.post(f"{server.address}/v1/drafts", json=body, headers=headers, timeout=60)
        assert (answer.status_code, httpx2.get(f"{server.address}/health/ready").status_code) == (200, 503)
        psutil.wait_procs([psutil.Process(server.pid)], timeout=180)
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{server.address}/health")


class RoundRobin:
    """What a proxy does: each call goes to the next server, and on to the one after it if that gives no answer."""

    def __init__(self, addresses: list[str], key: str) -> None:
        self.addresses, self.key = addresses, key
        self.turns = itertools.count()
        limits = httpx2.Limits(max_keepalive_connections=CLIENTS)
        self.client = httpx2.AsyncClient(timeout=60, limits=limits, trust_env=False)

    async def post(self, body: dict[str, Any], **headers: str) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {self.key}", **headers}
        turn = next(self.turns)
        for tried in range(2 * len(self.addresses)):
            address = self.addresses[(turn + tried) % len(self.addresses)]
            with suppress(httpx2.TransportError):
                async with self.client.stream("POST", f"{address}/v1/drafts", json=body, headers=headers) as answer:
                    return answer.status_code, await self._read(answer)  # an error from here on is the reader's
        return 0, "no answer"

    async def _read(self, answer: httpx2.Response) -> str:
        try:
            return (await answer.aread()).decode()
        except httpx2.TransportError as error:
            return f"cut off: {type(error).__name__}"


async def drafts_meanwhile(proxy: RoundRobin, work: Callable[[], None]) -> tuple[int, list[tuple[int, str]]]:
    """Clients that write draft after draft, every second one streamed, until the work is done: how many drafts there
    were, and the answers that are none."""
    done = asyncio.Event()
    numbers = itertools.count()
    failed = []

    async def write() -> None:
        while not done.is_set():
            number = next(numbers)
            if streams := bool(number % 2):
                status, text = await proxy.post({"request": "When do we meet?", "stream": True})
                whole = json.dumps(WORDS)[1:-1] in text and "event: error" not in text
            else:
                status, text = await proxy.post({"request": "When do we meet?"}, **{"Idempotency-Key": f"c{number}"})
                whole = status == 200 and json.loads(text)["text"] == WORDS
            if not (whole and status == 200):
                failed.append((streams, status, text[-500:]))

    async def end() -> None:
        await asyncio.to_thread(work)
        done.set()

    await asyncio.gather(end(), *(write() for _ in range(CLIENTS)))
    await proxy.client.aclose()
    return next(numbers), failed


@pytest.mark.timeout(1200)
def test_servers_are_replaced_and_no_draft_fails(postgres_server: Engine, tmp_path: Path) -> None:
    with two_servers(postgres_server, tmp_path, pace_s=PACE_S) as servers:
        key = servers.key("ada")
        assert servers.call(0, key, "POST", "/v1/documents", {"documents": DOCUMENTS}).status_code == 201

        def replace_each() -> None:
            for number in (0, 1) * ROUNDS:
                port = servers.addresses[number].rpartition(":")[2]
                servers.running[number].close()  # SIGTERM
                servers.start(number, port)

        count, failed = asyncio.run(drafts_meanwhile(RoundRobin(servers.addresses, key), replace_each))
        assert failed == []
        assert count > CLIENTS * ROUNDS
        with servers.database.read() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM drafts").scalar_one() == count
        for log in tmp_path.glob("*/pearl.log"):
            assert " ERROR " not in log.read_text()
