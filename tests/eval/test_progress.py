from __future__ import annotations

import time
from io import StringIO
from itertools import count

import pytest
from rich.console import Console

from eval.generations import Generation
from eval.progress import duration, watched


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (100_000, "27.8 h")],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


def test_a_line_now_and_then_where_nobody_sees_a_bar(monkeypatch):
    out, clock = StringIO(), count(100.0, 31.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with watched(Console(file=out, width=80)) as watch:
        advance = watch("drafts", 5)
        for place in range(5):
            advance(Generation(str(place), "", error="llm_failed" if place == 1 else None))
    assert out.getvalue().splitlines() == [
        "drafts: 2 of 5, 31.0 s each, 2 min left, 1 failed",
        "drafts: 4 of 5, 31.0 s each, 31 s left, 1 failed",
        "drafts: 5 of 5, 31.0 s each, 0 s left, 1 failed",
    ]
