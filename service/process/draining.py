"""The time between the signal to end and the end, in which proxies learn that a server is not ready any more."""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType


def drain_at_signal(seconds: float, stopping: threading.Event) -> None:
    """Change what SIGTERM does: set ``stopping``, and do what it did before only after so many seconds; at a second one
    at once. To be called in the main thread's event loop, by a server that has set its handler."""
    before = signal.getsignal(signal.SIGTERM)
    assert callable(before)
    loop = asyncio.get_running_loop()

    def begin(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            before(number, frame)
            return
        stopping.set()
        loop.call_soon_threadsafe(loop.call_later, seconds, before, number, None)

    signal.signal(signal.SIGTERM, begin)
