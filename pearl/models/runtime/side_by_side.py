"""Running several asyncio workers over the same items."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def side_by_side(work: Callable[[], Awaitable[None]], count: int) -> None:
    """Run ``work`` ``count`` times at once; all runs take their items from one shared iterator until it is empty.

    Raises the error of the first that fails, and cancels the others.
    """
    workers = [asyncio.ensure_future(work()) for _ in range(count)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
