"""A limit on the drafts that a worker process writes at once."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import TypeVar

from pearl.errors import Overloaded

T = TypeVar("T")

MEAN_STEP = 0.05


class Admission:
    """Refuses drafts while too many are being written: a queue would only make all of them slower."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seconds = 0.0  # a moving mean of a draft's time
        self.inside = 0

    async def admit(self, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the events of a draft, in a slot from the first to the last. Raises Overloaded before the first."""
        async with aclosing(events):
            with self.slot():
                async for event in events:
                    yield event

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a slot. Raises Overloaded if none is free, with the time after which one may be."""
        if self.inside >= self._most:
            raise Overloaded(
                f"This worker is writing {self._most} drafts already, the most it does at once; try again later.",
                retry_after=max(1.0, self._seconds),
            )
        self.inside += 1
        started = time.perf_counter()
        try:
            yield
        finally:
            self.inside -= 1
            self._seconds += MEAN_STEP * (time.perf_counter() - started - self._seconds)
