from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pearl.clock import Clock
from retriever.calibrated.head import AT_ONCE, MOST, Cascade


class Reader:
    """Says what it is told, and remembers whom it read."""

    def __init__(self, logits: Any) -> None:
        self.logits = np.asarray(logits, np.float32)
        self.calls: list[list[int]] = []

    def __call__(self, parts: Any) -> Any:
        for positions in parts:
            self.calls.append(positions.tolist())
            yield self.logits[positions]

    @property
    def seen(self) -> list[int]:
        return [position for call in self.calls for position in call]


def falling(count: int, step: float = 0.1) -> Any:
    return -step * np.arange(count, dtype=np.float32)


def test_the_best_are_read_a_few_at_a_time_and_the_others_keep_their_scores():
    first, reader = falling(MOST + 9), Reader(np.full(MOST + 9, -100.0))
    clock = Clock()
    scores = Cascade().scores(first, reader, clock)
    assert reader.seen == list(range(MOST))
    assert {len(call) for call in reader.calls} == {AT_ONCE}
    assert (scores[:MOST] == -100).all()
    assert np.array_equal(scores[MOST:], first[MOST:])
    assert not clock.cut_short


def test_the_two_stages_are_averaged_and_the_others_keep_the_first():
    first, reader = falling(40), Reader(np.full(40, 3.0))
    scores = Cascade(weight=0.25).scores(first, reader, Clock())
    assert scores[:MOST] == pytest.approx(0.75 * first[:MOST] + 0.25 * 3)
    assert scores[MOST:] == pytest.approx(first[MOST:])


@pytest.mark.parametrize("calls", [0, 2])
def test_out_of_time_it_is_the_first_stages_order(calls):
    first, clock = falling(50), Clock(60_000)

    class Slow(Reader):
        def __call__(self, parts: Any) -> Any:
            for logits in super().__call__(parts):
                if len(self.calls) == calls:
                    clock.limit_ms = 0.0
                yield logits

    reader = Slow(np.arange(50))
    if calls == 0:
        clock.limit_ms = 0.0
    scores = Cascade(3 * AT_ONCE).scores(first, reader, clock)
    assert (len(reader.calls), clock.cut_short) == (calls, True)
    assert np.array_equal(scores, first)


def test_one_document_and_none():
    one, none = falling(1), falling(0)
    assert Cascade().scores(one, Reader([2.0]), Clock()).tolist() == [2.0]
    assert Cascade().scores(none, Reader([]), Clock()).shape == (0,)
