"""What is said of a transfer while it runs."""

from __future__ import annotations

import io

from rich.console import Console

from pearl.models.weights.progress import Transfer, bytes_bar


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(terminal: bool, kept: int, total: int | None) -> str:
    """Everything that is shown when 20 MB come in a second, for 30 seconds."""
    said, clock = io.StringIO(), Clock()
    console = Console(file=said, width=100, force_terminal=terminal)
    with bytes_bar(console) as bar:
        transfer = Transfer(console, bar, "mine", clock=clock)
        transfer.begin(kept, total)
        for second in range(1, 31):
            clock.now = float(second)
            transfer.at(kept + 20_000_000 * second)
    return said.getvalue()


def test_rate_and_time_left_now_and_then():
    assert lines(False, 0, 1_000_000_000).splitlines() == [
        "mine: 200 of 1,000 MB, 20.0 MB/s, 40 s left",
        "mine: 400 of 1,000 MB, 20.0 MB/s, 30 s left",
        "mine: 600 of 1,000 MB, 20.0 MB/s, 20 s left",
    ]


def test_the_rate_is_of_what_comes_now():
    assert lines(False, 400_000_000, 1_000_000_000).splitlines()[:2] == [
        "mine: 400 MB are kept from before",
        "mine: 600 of 1,000 MB, 20.0 MB/s, 20 s left",
    ]


def test_a_total_that_nobody_knows():
    assert lines(False, 0, None).splitlines()[0] == "mine: 200 MB, 20.0 MB/s"


def test_a_bar_on_a_terminal():
    shown = lines(True, 0, 1_000_000_000)
    assert "600.0 MB" in shown or "0.6/1.0 GB" in shown
    assert "MB/s, " not in shown
