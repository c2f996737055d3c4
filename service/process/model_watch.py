"""Watch the chat model: log and count its failures, and tell whether it would answer now."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass

from pearl.errors import ChatError, ChatInterrupted, ChatRateLimited, ChatRefused, ChatRejected, StoreError
from pearl.models.chat.base import ChatModel, Chunk, Decoding, Message
from service.store import keys
from service.store.database import Database

log = logging.getLogger("pearl.models.chat")

CHECKED_S = 10.0  # how long the outcome of a check or of a successful call counts
FAILED_S = 30.0  # how long a failed call counts: an endpoint may pass the check and still fail
OF_ONE_CALL = (ChatRejected, ChatRefused, ChatInterrupted, ChatRateLimited)  # the next call may succeed


class Spending:
    """The tokens that a draft has used and that are not yet counted for its key in the store."""

    def __init__(self, database: Database, key_id: str) -> None:
        self._database = database
        self._key_id = key_id
        self.tokens = 0

    def store(self) -> None:
        tokens, self.tokens = self.tokens, 0
        try:
            with self._database.write() as connection:
                keys.spend(connection, self._key_id, tokens)
        except StoreError as error:  # the draft is written
            logging.getLogger("pearl.service").warning(
                "%s tokens of %s are not counted: %s", tokens, self._key_id, error.message
            )


counted: ContextVar[Spending | None] = ContextVar("counted", default=None)  # of the draft that a request asks for


class CallTokens:
    """Counts the tokens of one call of the chat model."""

    def __init__(self, spending: Spending, model: ChatModel, messages: Sequence[Message]) -> None:
        self._spending = spending
        self._model = model
        self._messages = messages
        self._texts: list[str] = []
        self._told = 0

    def read(self, chunk: Chunk) -> None:
        self._texts.append(chunk.text)
        if chunk.usage is not None:
            self._told = chunk.usage.total_tokens

    def end(self, *, failed: bool) -> None:
        """Count the tokens that the model reported, or an estimate. A call that failed before any text counts none."""
        if not self._told and (any(self._texts) or not failed):
            texts = [message.content for message in self._messages] + ["".join(self._texts)]
            self._told = sum(map(self._model.count_tokens, texts))
        self._spending.tokens += self._told


@dataclass(frozen=True, slots=True)
class ModelState:
    """The last known state of the chat model."""

    trouble: str | None  # why it would not answer; None: it would
    until: float  # when the model has to be checked again, by the clock of WatchedModel


class WatchedModel:
    """A chat model that passes all calls on to another one, and records its tokens, failures and state."""

    def __init__(
        self, model: ChatModel, failed: Callable[[str], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        """Watch this model. ``failed`` is called with the code of each failure; ``now`` is a clock in seconds."""
        self._model = model
        self._failed = failed
        self._now = now
        self._state = ModelState(None, -1.0)
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
        """Load the weights now, if the model has any."""
        load = getattr(self._model, "load", None)
        if load is not None:
            load()

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        spending, failed = counted.get(), False
        call = None if spending is None else CallTokens(spending, self._model, messages)
        try:
            async with aclosing(self._model.stream(messages, decoding)) as chunks:
                async for chunk in chunks:
                    if call is not None:
                        call.read(chunk)
                    yield chunk
        except ChatError as error:
            failed = True
            self._failed(error.code)
            log.warning("%s: %s", error.code, error.message, extra={"fields": {"code": error.code}})
            if not isinstance(error, OF_ONE_CALL):
                self._state = ModelState(f"The last draft failed: {error.message}", self._now() + FAILED_S)
            raise
        finally:
            if call is not None:
                call.end(failed=failed)
        self._state = ModelState(None, self._now() + CHECKED_S)

    async def check(self) -> None:
        await self._model.check()

    async def trouble(self) -> str | None:
        """Return why the model would not answer now, None if it would, from its recent calls or from a check."""
        async with self._checking:  # of many probes at once, one checks
            if self._now() > self._state.until:
                before = self._state.trouble
                self._state = ModelState(await self._check_failure(), self._now() + CHECKED_S)
                if self._state.trouble not in (None, before):
                    log.warning("the chat model is not ready: %s", self._state.trouble)
            return self._state.trouble

    async def _check_failure(self) -> str | None:
        try:
            await self.check()
        except ChatError as error:
            self._failed(error.code)
            return error.message
        return None

    async def close(self) -> None:
        await self._model.close()
