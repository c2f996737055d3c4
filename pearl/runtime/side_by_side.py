"""Several workers over the same work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def side_by_side(work: Callable[[], Awaitable[None]], count: int) -> None:
    """``count`` times ``work`` at once; each takes what is next from one iterator, until it is empty.

    Raises what the first raises that fails; the others are cancelled then.
    """
    workers = [asyncio.ensure_future(work()) for _ in range(count)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
