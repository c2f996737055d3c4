"""Run blocking work (the store, ranking) off the event loop."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from pearl.errors import Overloaded

P = ParamSpec("P")
T = TypeVar("T")

MEAN_STEP = 0.05
WRITERS = 8  # calls that write to the store at once, or wait for its lock


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a worker thread and wait; the thread finishes even if the caller is cancelled."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))


async def in_writing_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that writes to the store as :func:`in_thread` does, but in threads of its own: writers may wait
    seconds for SQLite's one write lock, and readers must not wait with them."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=_limiter(_writers, WRITERS))


def writes(route: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Turn a plain function that writes to the store into a route that runs as :func:`in_writing_thread` does. FastAPI
    runs plain functions in worker threads, which is right for functions that only read."""

    @wraps(route)
    async def in_turn(*args: P.args, **kwargs: P.kwargs) -> T:
        return await in_writing_thread(route, *args, **kwargs)

    return in_turn


async def in_reading_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that parses a model's answer as :func:`in_thread` does, but one such function at a time: several
    would keep the event loop waiting."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=_limiter(_readers, 1))


def _limiter(of_loop: RunVar[anyio.CapacityLimiter], most: int) -> anyio.CapacityLimiter:
    try:
        limiter = of_loop.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(most)
        of_loop.set(limiter)
    return limiter


_writers: RunVar[anyio.CapacityLimiter] = RunVar("writers")  # of the event loop
_readers: RunVar[anyio.CapacityLimiter] = RunVar("readers")


class FairThreads:
    """Threads for work that may take long for one user, apart from the threads of the store.

    A user whose history is being embedded for the first time holds only a few of them, so other users need not wait. A
    call is refused at once if too many others wait.
    """

    IN_ALL, PER_USER = 32, 4

    def __init__(self, waiting: int) -> None:
        """``waiting`` is the number of calls that may wait for a thread."""
        self._all = anyio.CapacityLimiter(self.IN_ALL)
        self._of_user: WeakValueDictionary[int, anyio.CapacityLimiter] = WeakValueDictionary()
        self._most = self.IN_ALL + waiting
        self._inside = 0
        self._seconds = 0.0  # a moving mean of a call's time

    async def run(self, user_id: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function as :func:`in_thread` does, a few at once per user. Raises Overloaded if the queue is full."""
        if self._inside >= self._most:
            seconds = max(1.0, self._seconds * self._inside / self.IN_ALL)
            raise Overloaded("Too many requests wait for retrieval; try again a little later.", retry_after=seconds)
        turn = self._of_user.setdefault(user_id, anyio.CapacityLimiter(self.PER_USER))
        self._inside += 1
        try:
            async with turn:
                timed = partial(self._timed, function, *args, **kwargs)
                return await anyio.to_thread.run_sync(timed, limiter=self._all)
        finally:
            self._inside -= 1

    def _timed(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self._seconds += MEAN_STEP * (time.perf_counter() - start - self._seconds)
