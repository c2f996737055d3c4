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


def test_a_last_line_where_nobody_sees_a_bar(monkeypatch):
    out, clock = StringIO(), count(100.0, 2.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with watched(Console(file=out, width=80)) as watch:
        advance = watch("drafts", 3)
        for place in range(3):
            advance(Generation(str(place), "", seconds=16.0, error="llm_failed" if place == 1 else None))
    assert out.getvalue() == "drafts: 3 of 3, 2.0 s each, 0 s left, 1 failed\n"
