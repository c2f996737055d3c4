"""Blocking work (the store, ranking) off the event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run it in a worker thread and wait; the thread finishes even if the caller is cancelled."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))
