from __future__ import annotations

from io import StringIO
from itertools import count

import pytest
from rich.console import Console

from pearl.models.runtime.progress import duration, watched


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (100_000, "27.8 h")],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


def test_a_line_now_and_then_where_nobody_sees_a_bar():
    out, clock = StringIO(), count(100.0, 31.0)
    with watched(Console(file=out, width=80), lambda: next(clock)) as watch:
        tally = watch("drafts", 5)
        for place in range(5):
            tally.advance(failed=place == 1)
    assert out.getvalue().splitlines() == [
        "drafts: 2 of 5, 31.0 s each, 2 min left, 1 failed",
        "drafts: 4 of 5, 31.0 s each, 31 s left, 1 failed",
        "drafts: 5 of 5, 31.0 s each, 0 s left, 1 failed",
    ]


def test_a_line_a_minute_of_many_calls():
    out, now = StringIO(), [0.0]
    with watched(Console(file=out, width=80), lambda: now[0]) as lots:
        watch = lots("judgements", 400)
        for number in range(400):
            now[0] += 0.5 if number < 200 else 1.0
            if number == 200:
                watch.waits(30.0)
            watch.advance(failed=number == 10)
    lines = out.getvalue().splitlines()
    assert lines[0] == "judgements: 121 of 400, 2.0 per s, 2 min left, 1 failed"
    assert lines[1] == "judgements: the endpoint's rate limit makes us wait 30 s"
    # 200 in 100 s and 21 in 21 s: 121 / 221 s each, and 179 are left
    assert lines[2] == "judgements: 221 of 400, 1.8 per s, 2 min left, 1 failed"
    assert lines[-1] == "judgements: 400 of 400, 1.3 per s, 0 s left, 1 failed"
    assert len(lines) < 8
