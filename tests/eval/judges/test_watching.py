from __future__ import annotations

from io import StringIO

from rich.console import Console

from eval.judges.watching import watching


def test_a_line_a_minute_where_nobody_sees_a_bar():
    out, now = StringIO(), [0.0]
    with watching(Console(file=out, width=80), "judgements", 400, lambda: now[0]) as watch:
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
