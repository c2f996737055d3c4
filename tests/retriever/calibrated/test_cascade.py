from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pearl.clock import Clock
from retriever.base import best_first
from retriever.calibrated.cascade import AT_ONCE, MOST, SETTLED, Cascade


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
    scores = Cascade().scores(first, first, reader, clock)
    assert reader.seen == list(range(MOST))
    assert {len(call) for call in reader.calls} == {AT_ONCE}
    assert (scores[:MOST] == -100).all()
    assert np.array_equal(scores[MOST:], first[MOST:])
    assert not clock.cut_short


def test_the_two_stages_are_averaged_and_those_not_read_get_what_that_comes_to():
    first, reader = falling(40), Reader(np.full(40, 3.0))
    expected = 2 * first - 1
    scores = Cascade(weight=0.25).scores(first, expected, reader, Clock())
    assert scores[:MOST] == pytest.approx(0.75 * first[:MOST] + 0.25 * 3)
    assert scores[MOST:] == pytest.approx(0.75 * first[MOST:] + 0.25 * expected[MOST:])


def test_those_are_read_of_whom_most_is_expected():
    first, expected = falling(3), np.array([-9, 5, 6], np.float32)
    reader = Reader(np.zeros(3))
    Cascade(most=2, weight=0.5).scores(first, expected, reader, Clock())
    assert reader.seen == [2, 1]


@pytest.mark.parametrize(
    ("reach", "read"), [(None, 3 * AT_ONCE), (0.0, AT_ONCE), (1.3, AT_ONCE), (1.6, 2 * AT_ONCE), (9, 3 * AT_ONCE)]
)
def test_reading_ends_when_the_order_at_the_top_is_settled(reach: float | None, read: int) -> None:
    first = falling(50)
    reader = Reader(np.where(np.arange(50) < SETTLED, first + 0.2, first - 1.0))
    Cascade(3 * AT_ONCE, reach=reach).scores(first, first, reader, Clock())
    assert len(reader.seen) == read


def test_ending_early_changes_nothing_at_the_top():
    """Where no logit exceeds what was expected by more than the reach, which is what the reach is."""
    draw = np.random.default_rng(0)
    ended = 0
    for _ in range(200):
        first = draw.normal(0, 2, 60).astype(np.float32)
        logits = first + np.minimum(draw.normal(0, 0.3, 60), 0.5).astype(np.float32)
        short, whole = Reader(logits), Reader(logits)
        early = Cascade(reach=0.5).scores(first, first, short, Clock())
        late = Cascade().scores(first, first, whole, Clock())
        assert best_first(early)[:SETTLED].tolist() == best_first(late)[:SETTLED].tolist()
        ended += len(short.seen) < len(whole.seen)
    assert ended > 100


@pytest.mark.parametrize("calls", [0, 2])
def test_out_of_time_it_is_the_first_stages_order(calls: int) -> None:
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
    scores = Cascade(3 * AT_ONCE).scores(first, first, reader, clock)
    assert (len(reader.calls), clock.cut_short) == (calls, True)
    assert np.array_equal(scores, first)


def test_one_document_and_none():
    one, none = falling(1), falling(0)
    assert Cascade(reach=0.1).scores(one, one, Reader([2.0]), Clock()).tolist() == [2.0]
    assert Cascade().scores(none, none, Reader([]), Clock()).shape == (0,)
