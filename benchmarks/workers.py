"""One worker beside two, and two servers whose proxy sends a user to the same one beside two that take turns.

One and two workers draft in turns for 32 clients that never pause, with the mock LLM behind them; all of them share the
machine. Then two servers on one PostgreSQL draft for users in any order, two at a time: each user's drafts go to a
server of theirs, or to each server in turn. The drafts of each user are the same number for both; each server starts
anew. The smaller number of users fits into the memory that a server keeps for indexes, the larger one into that of two.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.corpus import find_corpus, invented_lines, one_user
from benchmarks.draft_overhead import HISTORY, QUICK_HISTORY
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.load import REQUESTS, load, on_pearl
from benchmarks.load_client import Outcome, Plan
from benchmarks.many_users import QUICK_SIZE, SIZE, built, call, calling, filled, postgres
from benchmarks.processes import House, Server, mocked, of_mock, served, serving, wait_until_ready
from service.store.database import Database
from service.store.keys import create_for_service

TITLE = "Two workers and two servers"
CLIENTS, QUICK_CLIENTS = 32, 2
REPETITIONS, SECONDS = 3, 20.0
QUICK_REPETITIONS, QUICK_SECONDS = 1, 0.5
USERS, QUICK_USERS = 300, 4
DRAFTS, QUICK_DRAFTS = 4, 2  # of each user
WAYS = {"sticky": "each user to one server", "turns": "servers in turn"}


def measure(quick: bool) -> Measured:
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        scratch = Path(folder)
        figures = (*scaling(quick, scratch), *routing(quick, scratch))
    described = {
        "corpus": "commit messages of the git project or invented ones; for users in any order invented documents",
        "clients": QUICK_CLIENTS if quick else CLIENTS,
        "documents_of_each_of_many_users": (QUICK_SIZE if quick else SIZE).documents,
        "drafts_of_each": QUICK_DRAFTS if quick else DRAFTS,
    }
    return Measured(QUICK_REPETITIONS if quick else REPETITIONS, described, figures)


@dataclass(frozen=True, slots=True)
class Load:
    """What clients that never pause met, and the processor time of the service meanwhile."""

    outcome: Outcome
    cpu_s: float

    @property
    def per_second(self) -> float:
        return len(self.outcome.milliseconds) / self.outcome.seconds

    @property
    def cpu_ms(self) -> float:
        """Milliseconds of processor time for a draft."""
        return self.cpu_s * 1000 / len(self.outcome.milliseconds)


def scaling(quick: bool, scratch: Path) -> Iterator[Figure]:
    """Drafts by one worker and by two."""
    repetitions, seconds = (QUICK_REPETITIONS, QUICK_SECONDS) if quick else (REPETITIONS, SECONDS)
    person = one_user(find_corpus(scratch).lines(), QUICK_HISTORY if quick else HISTORY, REQUESTS)
    bodies = [{"request": request} for request in person.requests]
    loads: list[list[Load]] = []
    with ExitStack() as stack:
        houses = []
        for workers in ("1", "2"):
            (scratch / workers).mkdir()
            houses.append(stack.enter_context(served(person, scratch / workers, 0.0, "--workers", workers)))
        for _ in range(repetitions + 1):
            plans = [(house, on_pearl(house, bodies, QUICK_CLIENTS if quick else CLIENTS, seconds)) for house in houses]
            loads.append([_loaded(house, plan) for house, plan in plans])
    pairs = loads[1:]  # the first warms up
    for place, label in enumerate(("one worker", "two workers")):
        some = [pair[place] for pair in pairs]
        name = label.partition(" ")[0]
        yield over_repetitions(f"{name}_per_second", f"{label}: drafts", "calls/s", [each.per_second for each in some])
        tails = [percentile(each.outcome.milliseconds, 99) for each in some]
        yield over_repetitions(f"{name}_p99", f"{label}: latency, p99", "ms", tails)
        times = [each.cpu_ms for each in some]
        yield over_repetitions(f"{name}_cpu_ms", f"{label}: processor time of a draft", "ms", times)
        errors = [float(sum(each.outcome.errors.values())) for each in some]
        yield over_repetitions(f"{name}_errors", f"{label}: errors", "calls", errors, at_most=0)
    ratios = [two.per_second / one.per_second for one, two in pairs]
    yield over_repetitions("workers_ratio", "drafts by two workers by those of one", "times", ratios, at_least=1.8)


def _loaded(house: House, plan: Plan) -> Load:
    before = _cpu_s(house.pid)
    outcome = load(plan)
    return Load(outcome, _cpu_s(house.pid) - before)


def _cpu_s(pid: int) -> float:
    process = psutil.Process(pid)
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


@dataclass(frozen=True, slots=True)
class Routed:
    """Drafts of many users by two servers."""

    milliseconds: list[float]
    builds: float  # indexes built, for each user
    mib: float  # more than before the first draft, both servers together


def routing(quick: bool, scratch: Path) -> Iterator[Figure]:
    """Drafts of many users, each user's by one server or by both."""
    size, drafts = (QUICK_SIZE, QUICK_DRAFTS) if quick else (SIZE, DRAFTS)
    count = QUICK_USERS if quick else USERS
    routed: dict[str, list[Routed]] = {way: [] for way in WAYS}
    with postgres(scratch / "data") as server, mocked(scratch) as mock:
        url = filled(server, "many", count, size)
        with closing(Database(url)) as database, database.write() as connection:
            key = create_for_service(connection, (), all_users=True)
        settings = {"PEARL_DATABASE_URL": url, "PEARL_RATE_LIMIT": ""} | of_mock(mock)
        for repetition in range(QUICK_REPETITIONS if quick else REPETITIONS):
            users = [f"user{number:05d}" for number in range(count)] * drafts
            random.Random(repetition).shuffle(users)
            for way, some in routed.items():
                some.append(_routed(settings, key, users, way, scratch))
    for way, some in routed.items():
        name, label = f"{count}_{way}", f"{count} users, {WAYS[way]}"
        halves = [percentile(each.milliseconds, 50) for each in some]
        tails = [percentile(each.milliseconds, 99) for each in some]
        yield over_repetitions(f"{name}_p50", f"{label}: drafts, p50", "ms", halves)
        yield over_repetitions(f"{name}_p99", f"{label}: drafts, p99", "ms", tails)
        builds = [each.builds for each in some]
        yield over_repetitions(f"{name}_builds", f"{label}: indexes built", "for each user", builds)
        yield over_repetitions(f"{name}_mib", f"{label}: memory of both", "MiB more", [each.mib for each in some])


def _routed(settings: dict[str, str], key: str, users: Sequence[str], way: str, scratch: Path) -> Routed:
    """One draft for each mention of a user, two at a time, by two servers that start anew."""
    with ExitStack() as stack:
        servers: list[Server] = []
        for number in range(2):
            home = scratch / f"server{number}"
            home.mkdir(exist_ok=True)
            servers.append(stack.enter_context(serving(settings | {"PEARL_HOME": str(home)}, home)))
        for server in servers:
            wait_until_ready(server)
        clients = [stack.enter_context(calling(server, key)) for server in servers]
        requests = [{"request": line["request"]} for line in invented_lines(len(users))]
        before = sum(server.resident_mib for server in servers)

        def draft(number: int) -> float:
            user = users[number]
            client = clients[(int(user.removeprefix("user")) if way == "sticky" else number) % 2]
            return call(client, "POST", "/v1/drafts", json=requests[number], headers={"X-Pearl-User": user})

        with ThreadPoolExecutor(2) as pool:
            milliseconds = list(pool.map(draft, range(len(users))))
        builds = sum(map(built, clients)) / len(set(users))
        return Routed(milliseconds, builds, sum(server.resident_mib for server in servers) - before)
