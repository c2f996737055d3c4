"""Chat models: one protocol for all of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pearl.records import Usage

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Decoding:
    """Rules for choosing tokens. Temperature 0 takes the likeliest one every time (papers/pearl.txt, appendix A)."""

    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int = 0  # of a model on this machine; an endpoint draws anew each time
    choices: tuple[str, ...] = ()  # the only answers allowed to a model on this machine; an endpoint does not know them
    # when the draft of this answer was begun, by time.monotonic; the limit on an endpoint's time counts from there
    began: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PromptRead:
    """The part of a prompt that a model on this machine has read so far; the first word comes behind all of it."""

    done: int  # tokens, with those kept from an earlier prompt
    total: int  # tokens
    seconds_left: float | None = None  # None where nothing is known of the speed yet


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of an answer as it arrives."""

    text: str = ""
    finish_reason: str | None = None  # of the last one
    usage: Usage | None = None  # of the last one
    prompt_read: PromptRead | None = None  # of those before the first word, which have no text


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    finish_reason: str  # "stop", or "length" if it hit ``max_tokens``
    usage: Usage
    seconds: float | None = field(default=None, compare=False)  # it took, where that was measured


class ChatModel(Protocol):
    """Anything that answers messages. Raises ChatError; leaving the iterator early stops the generation."""

    @property
    def name(self) -> str: ...

    @property
    def context_tokens(self) -> int: ...

    @property
    def continues(self) -> bool:
        """True if it goes on with an answer whose beginning is the last message, the assistant's."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text; an estimate errs upwards."""
        ...

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        """Yield the answer piece by piece, with a last chunk for the finish reason."""
        ...

    async def check(self) -> None:
        """Check cheaply that the model would answer. Raises ChatError with the reason if not."""
        ...

    async def close(self) -> None: ...


async def complete(model: ChatModel, messages: Sequence[Message], decoding: Decoding) -> Reply:
    """Gather the whole answer."""
    return await gathered(model.stream(messages, decoding))


async def gathered(chunks: AsyncGenerator[Chunk, None]) -> Reply:
    """Join the pieces of an answer as they come."""
    return joined([chunk async for chunk in chunks])


def joined(chunks: Sequence[Chunk]) -> Reply:
    """Join the pieces of an answer."""
    finish_reasons = [chunk.finish_reason for chunk in chunks if chunk.finish_reason]
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    text = "".join(chunk.text for chunk in chunks)
    return Reply(text, finish_reasons[-1] if finish_reasons else "stop", usages[-1] if usages else Usage())
