"""The tokens of a key's drafts, counted where they ask the chat model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar

from pearl.chat.base import ChatModel, Chunk, Message
from pearl.errors import StoreError
from service.store import keys
from service.store.database import Database

log = logging.getLogger("pearl.service")


class Spending:
    """The tokens of one draft that are not stored yet."""

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
            log.warning("%s tokens of %s are not counted: %s", tokens, self._key_id, error.message)


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
        """Count what the model said it took, else an estimate; a call that failed without a word takes nothing."""
        if not self._told and (any(self._texts) or not failed):
            texts = [message.content for message in self._messages] + ["".join(self._texts)]
            self._told = sum(map(self._model.count_tokens, texts))
        self._spending.tokens += self._told
