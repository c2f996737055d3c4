"""Generations on this machine: each takes its turn at a thread, and its pieces arrive in the caller's event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor

from pearl.chat.base import Chunk
from pearl.errors import ChatError, ContextExceeded

log = logging.getLogger(__name__)

Left = Callable[[], bool]  # True when nobody waits for the answer any more
Put = Callable[[Chunk], None]
Generate = Callable[[Put, Left], None]


async def in_turn(turns: ThreadPoolExecutor, generate: Generate) -> AsyncGenerator[Chunk, None]:
    """Yield what ``generate`` puts on one of the threads. Raises ChatError for whatever goes wrong there."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue()
    left = threading.Event()

    def put(item: Chunk | Exception | None) -> None:
        if not left.is_set():
            loop.call_soon_threadsafe(arrived.put_nowait, item)

    def run() -> None:
        try:
            if not left.is_set():
                generate(put, left.is_set)
            put(None)
        except (ChatError, ContextExceeded) as error:
            put(error)
        except Exception as error:  # whatever a library raises: the caller must not wait for ever
            log.debug("a generation failed", exc_info=True)
            put(ChatError(f"The embedded model failed ({type(error).__name__}).", code="llm_failed"))

    try:
        turn = turns.submit(run)
    except RuntimeError as error:
        raise _closed() from error
    turn.add_done_callback(lambda done: put(_closed()) if done.cancelled() else None)
    try:
        while (item := await arrived.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        left.set()


def check_room(prompt_tokens: int, max_tokens: int, context_tokens: int) -> None:
    """Raise ContextExceeded where no room for the answer is left behind the prompt."""
    if prompt_tokens + max_tokens > context_tokens:
        raise ContextExceeded(
            f"The prompt has {prompt_tokens} tokens; with {max_tokens} for the answer it does not fit the context of "
            f"{context_tokens}; shorten it, or raise PEARL_EMBEDDED_CONTEXT_TOKENS."
        )


def _closed() -> ChatError:
    return ChatError("The embedded model was closed; the service is stopping.", code="llm_closed")
