from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from pearl.errors import InputError
from pearl.settings import load_settings
from service.process import rate_limits
from service.process.rate_limits import AGAIN_S, Allowance, MovingWindow, RateLimits, over_the_limit


def limits(limit: str, storage: str = "memory://") -> RateLimits:
    return RateLimits(load_settings(rate_limit=limit, rate_limit_storage=storage))


def test_so_many_and_no_more() -> None:
    three = limits("3/hour")
    taken = [three.take("a") for _ in range(4)]
    assert [allowed for allowed, _ in taken] == [True, True, True, False]
    assert [allowance.remaining for _, allowance in taken if allowance] == [2, 1, 0, 0]
    assert all(allowance and allowance.limit == 3 and 3000 < allowance.reset_s <= 3600 for _, allowance in taken)
    assert three.take("b")[0]


def test_the_window_moves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    one = limits("1/second")
    assert [one.take("a")[0] for _ in range(2)] == [True, False]
    now += 1.05
    assert one.take("a")[0]


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_is_set_moves_no_window(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    two = limits("2/hour")
    two.take("a")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    (allowed, allowance), (refused, left) = two.take("a"), two.take("a")
    assert (allowed, refused) == (True, False)
    assert allowance
    assert left
    assert 3000 < left.reset_s <= allowance.reset_s <= 3600


def test_who_asks_no_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    window = MovingWindow(2, 60)
    for key in ("a", "b", "a"):
        window.hit(key)
    now += 30
    assert [window.hit("b")[0], window.hit("a")[0]] == [True, False]
    now += 31
    assert window.hit("c") == (True, Allowance(2, 1, 60.0))
    assert list(window._taken) == ["b", "c"]
    assert window.hit("b") == (True, Allowance(2, 0, 29.0))


def test_no_limit() -> None:
    assert limits("").take("a") == (True, None)


def test_how_long_to_wait() -> None:
    assert over_the_limit(Allowance(3, 0, 12.2)).retry_after == 13.0
    assert over_the_limit(Allowance(3, 0, 0.0)).retry_after == 1.0
    assert Allowance(3, 1, 12.25).headers() == {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": "12.250s",
    }


def test_redis_counts_for_all_processes(redis: Any) -> None:
    one, other = limits("3/hour", redis.url), limits("3/hour", redis.url)
    taken = [counting.take("a") for counting in (one, other, one, other, one)]
    assert [allowed for allowed, _ in taken] == [True, True, True, False, False]
    assert [allowance.remaining for _, allowance in taken if allowance] == [2, 1, 0, 0, 0]
    assert all(allowance and 3000 < allowance.reset_s <= 3600 for _, allowance in taken)
    assert other.take("b")[0]


@pytest.mark.parametrize("away", ["stopped", "frozen"])
def test_while_redis_is_away_each_process_counts_for_itself(
    redis: Any, away: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits for it for long, or again before it is asked again; when it answers, it counts again."""
    now, asked = 100.0, Counter[Any]()
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(monotonic=lambda: now, time=time.time))
    caplog.set_level("INFO", "pearl.service")
    processes = [limits("2/hour", redis.url) for _ in range(2)]
    assert [counting.take("a")[0] for counting in processes] == [True, True]
    if away == "stopped":
        redis.stop()
    else:
        redis.process.send_signal(signal.SIGSTOP)
    for counting in processes:
        ask = counting._limiter.hit
        monkeypatch.setattr(counting._limiter, "hit", lambda *given, ask=ask: asked.update([ask]) or ask(*given))
        assert [counting.take("a")[0] for _ in range(4)] == [True, True, False, False]
        assert not counting.answers()
    if away == "stopped":
        redis.start()
    else:
        redis.process.send_signal(signal.SIGCONT)
    assert list(asked.values()) == [1, 1]
    now += AGAIN_S
    kept = away == "frozen"  # what it counted before
    assert [counting.take("a")[0] for counting in (*processes, *processes)] == [not kept, not kept, False, False]
    told = ["does not answer: this process counts for itself"] * 2 + ["answers again"] * 2
    assert all(record.message.endswith(words) for record, words in zip(caplog.records, told, strict=True))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PEARL_RATE_LIMIT", "often"),
        ("PEARL_RATE_LIMIT_STORAGE", "nonsense"),
        ("PEARL_RATE_LIMIT_STORAGE", "redis://host:port"),
    ],
)
def test_settings_that_cannot_be_used_are_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=name):
        RateLimits(load_settings())


def test_without_the_library_of_redis_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(InputError, match=r"needs redis.*pip install 'pearl-writing\[redis\]'"):
        RateLimits(load_settings(rate_limit_storage="redis://127.0.0.1"))
