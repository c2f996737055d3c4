"""A chat model for tests: it answers from a queue and remembers what it was asked."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence

from pearl.errors import ChatError
from pearl.models.chat.base import Chunk, Decoding, Message, PromptRead
from pearl.records import Usage


class FakeChatModel:
    """Each reply is a text, streamed word by word, or an error that is raised in its place.

    A tuple is streamed item by item: texts, how far the prompt is read, or an error that breaks the answer off there.
    """

    continues = False

    def __init__(
        self,
        replies: Iterable[str | Exception | tuple[str | Exception | PromptRead, ...]] = (),
        *,
        name: str = "fake",
        context_tokens: int = 2000,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.replies = deque(replies)
        self.calls: list[tuple[list[Message], Decoding]] = []
        self.unwell: ChatError | None = None  # what check raises
        self.left_early = 0  # generations whose reader went away

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        self.calls.append((list(messages), decoding))
        reply = self.replies.popleft() if self.replies else "A fake reply."
        items = reply if isinstance(reply, tuple) else (reply,) if isinstance(reply, Exception) else _words(reply)
        words = 0
        try:
            for item in items:
                if isinstance(item, Exception):
                    raise item
                if isinstance(item, PromptRead):
                    yield Chunk(prompt_read=item)
                    continue
                words += 1
                yield Chunk(item)
            prompt_tokens = sum(self.count_tokens(message.content) for message in messages)
            yield Chunk(finish_reason="stop", usage=Usage(prompt_tokens, words))
        except GeneratorExit:
            self.left_early += 1
            raise

    async def check(self) -> None:
        if self.unwell is not None:
            raise self.unwell

    async def close(self) -> None:
        pass


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(" ", " \0").split("\0")) if text else ()
