"""The protocol of all chat models, and the types of its messages and answers."""

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
    """Options for choosing tokens. Temperature 0 always takes the likeliest token (papers/pearl.txt, appendix A)."""

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
    """The progress of a model on this machine in reading a prompt; its answer begins after all of it is read."""

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
    """A whole answer, with its finish reason and usage."""

    text: str
    finish_reason: str  # "stop", or "length" if it hit ``max_tokens``
    usage: Usage
    seconds: float | None = field(default=None, compare=False)  # it took, where that was measured


class ChatModel(Protocol):
    """A chat model that answers messages. Raises ChatError; closing the iterator early stops the generation."""

    @property
    def name(self) -> str: ...

    @property
    def context_tokens(self) -> int: ...

    @property
    def continues(self) -> bool:
        """True if the model continues an answer whose beginning is given as a last message of the assistant."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text; a model that can only estimate errs upwards."""
        ...

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        """Yield the answer piece by piece, with a last chunk for the finish reason."""
        ...

    async def check(self) -> None:
        """Check cheaply that the model would answer. Raises ChatError with the reason if not."""
        ...

    async def close(self) -> None: ...


async def complete(model: ChatModel, messages: Sequence[Message], decoding: Decoding) -> Reply:
    """Have the model answer, and return the whole answer."""
    return await gathered(model.stream(messages, decoding))


async def gathered(chunks: AsyncGenerator[Chunk, None]) -> Reply:
    """Await all chunks of an answer and join them."""
    return joined([chunk async for chunk in chunks])


def joined(chunks: Sequence[Chunk]) -> Reply:
    """Join the chunks of an answer to a reply."""
    finish_reasons = [chunk.finish_reason for chunk in chunks if chunk.finish_reason]
    usages = [chunk.usage for chunk in chunks if chunk.usage]
    text = "".join(chunk.text for chunk in chunks)
    return Reply(text, finish_reasons[-1] if finish_reasons else "stop", usages[-1] if usages else Usage())
