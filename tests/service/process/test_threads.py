from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from pearl.errors import Overloaded
from service.process.threads import FairThreads
from service.services import THREADS


async def started(threads: FairThreads, group: Any, count: int, users: int, release: threading.Event) -> None:
    for number in range(count):
        group.start_soon(threads.run, number % users, release.wait, 10)
    await anyio.wait_all_tasks_blocked()


def test_who_finds_the_queue_full_is_turned_away_and_told_when_to_come_back():
    async def main() -> None:
        threads, release = FairThreads(waiting=3), threading.Event()
        async with anyio.create_task_group() as group:
            await started(threads, group, FairThreads.IN_ALL + 3, 20, release)
            with pytest.raises(Overloaded) as refused:
                await threads.run(99, release.wait)
            release.set()
        assert (refused.value.http_status, refused.value.code) == (503, "overloaded")
        assert refused.value.retry_after >= 1
        assert await threads.run(99, lambda: 7) == 7  # there is room again

    anyio.run(main)


def test_one_user_does_not_hold_all_threads():
    async def main() -> None:
        threads, release = FairThreads(waiting=0), threading.Event()
        async with anyio.create_task_group() as group:
            await started(threads, group, FairThreads.PER_USER + 2, 1, release)
            assert await threads.run(2, lambda: "at once") == "at once"
            release.set()

    anyio.run(main)


def test_a_failure_gives_its_place_back():
    async def main() -> None:
        threads = FairThreads(waiting=0)
        for _ in range(FairThreads.IN_ALL + 2):
            with pytest.raises(ZeroDivisionError):
                await threads.run(1, lambda: 1 // 0)
        assert await threads.run(1, lambda: 1) == 1

    anyio.run(main)


@pytest.mark.parametrize(
    ("calls", "status"),
    [
        ([("PUT", f"/v1/voices/v{number}") for number in range(THREADS)], 201),
        ([("DELETE", "/v1/documents?voice=email")] * THREADS, 200),
    ],
)
def test_writers_that_wait_for_a_lock_hold_up_no_reader(
    house: Any, calls: list[tuple[str, str]], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.store.database.TIMEOUT_S", 60.0)
    pearl = house()
    pearl.voice("ann", "email")
    ann = pearl.as_user("ann")
    lock = sqlite3.connect(pearl.database.engine.url.database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(max_workers=THREADS + 1) as clients:
        writers = [clients.submit(ann, *call, {}) for call in calls]
        time.sleep(0.3)  # each waits in its thread
        assert clients.submit(ann.get, "/v1/voices").result().status_code == 200
        assert not any(writer.done() for writer in writers)
        lock.execute("ROLLBACK")
        assert {writer.result().status_code for writer in writers} == {status}
    lock.close()
