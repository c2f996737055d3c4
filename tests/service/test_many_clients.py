"""Many clients that never pause: every call is answered, and memory stays. ``make endure`` has 200 for five minutes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.corpus import invented_lines, one_user
from benchmarks.load import load, on_pearl
from benchmarks.processes import process_mib, served

LONG = os.environ.get("PEARL_ENDURE")
CLIENTS, SECONDS = (200, 150.0) if LONG else (20, 3.0)
MORE_MIB = 60  # of the second half; a leak of a kilobyte a draft is more in five minutes


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_no_call_fails_and_memory_does_not_grow(embedded_once: None, tmp_path: Path) -> None:
    person = one_user(list(invented_lines(400)), 60, 300)
    with served(person, tmp_path) as house:
        plan = on_pearl(house, [{"request": request} for request in person.requests], CLIENTS, SECONDS)
        first = load(plan)
        before = process_mib(house.pid)
        second = load(plan)
        grown = process_mib(house.pid) - before
    assert first.errors == second.errors == {}
    assert len(first.milliseconds) + len(second.milliseconds) > CLIENTS
    assert grown < MORE_MIB
