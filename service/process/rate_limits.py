"""Limits: on the requests of an API key, and on the drafts that a process writes at once."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeVar

from limits import parse
from limits.errors import ConfigurationError, StorageError
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from pearl.errors import AccessError, InputError, Overloaded
from pearl.extras import MissingExtra
from pearl.settings import Settings
from pearl.text.shown_urls import why

IN_MEMORY = "memory://"
ANSWERS_S = 0.5  # for a storage to connect and to answer; the URL's own socket_timeout counts instead
AGAIN_S = 5.0  # after a storage did not answer, until it is asked again

log = logging.getLogger("pearl.service")


class RateLimited(AccessError):
    http_status = 429
    type = "rate_limit_error"
    default_code = "rate_limit_exceeded"


@dataclass(frozen=True, slots=True)
class Allowance:
    """The number of requests that a key has left."""

    limit: int
    remaining: int
    reset_s: float  # seconds until the oldest counted request no longer counts

    def headers(self) -> dict[str, str]:
        """Return the allowance as the headers ``x-ratelimit-...``, which OpenAI's clients read."""
        return {
            "x-ratelimit-limit-requests": str(self.limit),
            "x-ratelimit-remaining-requests": str(self.remaining),
            "x-ratelimit-reset-requests": f"{self.reset_s:.3f}s",
        }


class MovingWindow:
    """Counts the requests of each key over a moving window, in this process, by the monotonic clock."""

    def __init__(self, amount: int, seconds: float) -> None:
        self._amount, self._seconds = amount, seconds
        self._taken: OrderedDict[str, deque[float]] = OrderedDict()  # the key with the newest request last
        self._lock = threading.Lock()

    def hit(self, key_id: str) -> tuple[bool, Allowance]:
        """Count one request; return whether it is allowed, and what is left."""
        now = time.monotonic()
        with self._lock:
            while self._taken and next(iter(self._taken.values()))[-1] <= now - self._seconds:
                self._taken.popitem(last=False)
            taken = self._taken.get(key_id) or deque()
            while taken and taken[0] <= now - self._seconds:
                taken.popleft()
            allowed = len(taken) < self._amount
            if allowed:
                taken.append(now)
                self._taken[key_id] = taken
                self._taken.move_to_end(key_id)
            return allowed, Allowance(self._amount, self._amount - len(taken), self._seconds - (now - taken[0]))


class RateLimits:
    """Counts requests by key over a moving window, in a storage that processes share, or in this process alone. While
    the storage does not answer, this process counts alone."""

    def __init__(self, settings: Settings) -> None:
        """Connect to the storage of the counts. Raises InputError if it cannot be used."""
        self._limit = parse(settings.rate_limit) if settings.rate_limit else None
        url = settings.rate_limit_storage
        self._shared = url != IN_MEMORY
        self._window = MovingWindow(self._limit.amount, self._limit.get_expiry()) if self._limit else None
        self._away_until: float | None = None  # by the monotonic clock; None: the storage answered last time
        limits = ("socket_timeout", "socket_connect_timeout") if url.startswith(("redis", "valkey")) else ()
        try:
            storage = storage_from_string(url, wrap_exceptions=True, **dict.fromkeys(limits, ANSWERS_S))
        except (ConfigurationError, ValueError) as error:
            if url.startswith("redis") and find_spec("redis") is None:
                raise MissingExtra("redis", "redis") from None
            reason = why(error, url)
            raise InputError(f"PEARL_RATE_LIMIT_STORAGE cannot be used: {reason}", code="invalid_setting") from None
        self._limiter = MovingWindowRateLimiter(storage)

    def answers(self) -> bool:
        """True if the storage of the counts can be reached."""
        try:
            return self._limiter.storage.check()
        except StorageError:
            return False

    def take(self, key_id: str) -> tuple[bool, Allowance | None]:
        """Count one request; return whether it is allowed, and what is left, or None without a limit."""
        if self._limit is None or self._window is None:
            return True, None
        began = time.monotonic()
        if not self._shared or (self._away_until is not None and began < self._away_until):
            return self._window.hit(key_id)
        if self._away_until is not None:  # one request asks again; the others do not wait for the answer
            self._away_until = began + AGAIN_S
        try:
            allowed = self._limiter.hit(self._limit, key_id)
            window = self._limiter.get_window_stats(self._limit, key_id)
        except StorageError:
            if self._away_until is None:
                log.warning("the storage of the rate limits does not answer: this process counts for itself")
            self._away_until = time.monotonic() + AGAIN_S
            return self._window.hit(key_id)
        if self._away_until is not None:
            log.info("the storage of the rate limits answers again")
            self._away_until = None
        reset = max(0.0, window.reset_time - time.time())
        return allowed, Allowance(self._limit.amount, window.remaining, reset)


def over_the_limit(allowance: Allowance) -> RateLimited:
    wait = max(1, math.ceil(allowance.reset_s))
    return RateLimited(
        f"This key is over its limit of {allowance.limit} requests; wait {wait} s.", retry_after=float(wait)
    )


T = TypeVar("T")

MEAN_STEP = 0.05
LONGEST_WAIT_S = 10.0  # for a slot; who would wait longer is refused at once


class Admission:
    """Lets a number of drafts be written at once; others wait, first come, first served. A draft that would wait too
    long is refused, with the time after which to ask again, since a longer queue would only make all drafts slower."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seconds = 0.0  # a moving mean of a draft's time
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.inside = 0

    async def admit(self, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the events of a draft, in a slot from the first to the last. Raises Overloaded before the first one."""
        async with aclosing(events), self.slot():
            async for event in events:
                yield event

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot, after a wait if all are taken. Raises Overloaded if that would take too long."""
        if self.inside >= self._most:
            await self._wait()  # for a slot that another hands on, so that ``inside`` stays
        else:
            self.inside += 1
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds += MEAN_STEP * (time.perf_counter() - started - self._seconds)
            self._hand_on()

    async def _wait(self) -> None:
        expected = (len(self._waiting) + 1) * self._seconds / self._most
        if not self._seconds or expected > LONGEST_WAIT_S:  # without a draft so far nobody knows
            raise Overloaded(
                f"This worker is writing {self._most} drafts already, the most it does at once; try again later.",
                retry_after=max(1.0, expected),
            )
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot came as the client left
                self._hand_on()
            raise

    def _hand_on(self) -> None:
        """Give the slot to the first who still waits for it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.inside -= 1
