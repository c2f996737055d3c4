"""The chat model with an eye on it: its failures in the log and in the metrics, and whether it would answer now."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from pearl.chat.base import ChatModel, Chunk, Decoding, Message
from pearl.errors import ChatError, ChatInterrupted, ChatRateLimited, ChatRefused, ChatRejected

log = logging.getLogger("pearl.chat")

CHECKED_S = 10.0  # how long the outcome of a check, or of a real call, is good for
FAILED_S = 30.0  # a failed call counts longer: an endpoint may be there and still answer nothing
OF_ONE_CALL = (ChatRejected, ChatRefused, ChatInterrupted, ChatRateLimited)  # they say nothing of the next one


@dataclass(frozen=True, slots=True)
class Sighting:
    """The state of the model until a time: ``trouble`` is why it would not answer, None when it would."""

    trouble: str | None
    until: float


class WatchedModel:
    """A chat model that passes everything on."""

    def __init__(
        self, model: ChatModel, failed: Callable[[str], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        """``failed`` is told the code of each failure."""
        self._model = model
        self._failed = failed
        self._now = now
        self._seen = Sighting(None, -1.0)
        self._checking = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    @property
    def continues(self) -> bool:
        return self._model.continues

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def load(self) -> None:
        """Load the weights now, where there are any."""
        load = getattr(self._model, "load", None)
        if load is not None:
            load()

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        try:
            async with aclosing(self._model.stream(messages, decoding)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ChatError as error:
            self._failed(error.code)
            log.warning("%s: %s", error.code, error.message, extra={"fields": {"code": error.code}})
            if not isinstance(error, OF_ONE_CALL):
                self._seen = Sighting(f"The last draft failed: {error.message}", self._now() + FAILED_S)
            raise
        self._seen = Sighting(None, self._now() + CHECKED_S)

    async def check(self) -> None:
        await self._model.check()

    async def trouble(self) -> str | None:
        """Why the model would not answer now, None when it would. Known from real calls, else asked for."""
        async with self._checking:  # of many probes at once one asks
            if self._now() > self._seen.until:
                before = self._seen.trouble
                self._seen = Sighting(await self._asked(), self._now() + CHECKED_S)
                if self._seen.trouble not in (None, before):
                    log.warning("the chat model is not ready: %s", self._seen.trouble)
            return self._seen.trouble

    async def _asked(self) -> str | None:
        try:
            await self.check()
        except ChatError as error:
            self._failed(error.code)
            return error.message
        return None

    async def close(self) -> None:
        await self._model.close()
