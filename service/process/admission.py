"""A limit on the drafts that a worker process writes at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

from pearl.errors import Overloaded

T = TypeVar("T")

MEAN_STEP = 0.05
LONGEST_WAIT_S = 10.0  # for a slot; who would wait longer is refused at once


class Admission:
    """Gives drafts slots in the order they come. A draft that would wait for its slot too long is refused, with the
    time after which it may come again: a longer queue would only make all of them slower."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seconds = 0.0  # a moving mean of a draft's time
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.inside = 0

    async def admit(self, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the events of a draft, in a slot from the first to the last. Raises Overloaded before the first."""
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
