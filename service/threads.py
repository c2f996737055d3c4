"""Blocking work (the store, ranking) off the event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run it in a worker thread and wait; the thread finishes even if the caller is cancelled."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))


class FairThreads:
    """Threads for work that may take long for one user, apart from those of the store.

    A user whose history is being embedded for the first time holds a few of them, so nobody else waits for it.
    """

    IN_ALL, PER_USER = 32, 4

    def __init__(self) -> None:
        self._all = anyio.CapacityLimiter(self.IN_ALL)
        self._of_user: WeakValueDictionary[int, anyio.CapacityLimiter] = WeakValueDictionary()

    async def run(self, user_id: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As :func:`in_thread`, in the user's turn."""
        turn = self._of_user.setdefault(user_id, anyio.CapacityLimiter(self.PER_USER))
        async with turn:
            return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=self._all)
