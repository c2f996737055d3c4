"""Chat models: one protocol, whatever stands behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pearl.records import Usage

Role = Literal["system", "user", "assistant"]
# Models that imitate more than they obey, by name. Every other is told that earlier texts show manner, never facts: one
# of 1.5 billion parameters then copies less than half as much (docs/experiments.md, "What a larger model is told").
IMITATORS = frozenset({"SmolLM2-135M-Instruct"})


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Decoding:
    """Rules for choosing tokens. Temperature 0 takes the likeliest one every time (papers/pearl.txt, appendix A).

    ``seed`` and ``choices`` are for a model on this machine: it draws the same from the same, and can be held to one of
    answers. An endpoint draws anew each time, and is only asked. ``began`` is when the draft was begun that this answer
    is a part of, by ``time.monotonic``: an endpoint's time is counted from there.
    """

    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int = 0
    choices: tuple[str, ...] = ()
    began: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of an answer as it arrives; the last one carries ``finish_reason`` and ``usage``."""

    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. ``finish_reason`` is "stop", or "length" where it hit ``max_tokens``."""

    text: str
    finish_reason: str
    usage: Usage


class ChatModel(Protocol):
    """Anything that answers messages. Raises ChatError; leaving the iterator early stops the generation.

    ``continues``: it goes on with an answer that the last message, of the assistant, begins.
    """

    @property
    def name(self) -> str: ...

    @property
    def context_tokens(self) -> int: ...

    @property
    def continues(self) -> bool: ...

    def count_tokens(self, text: str) -> int:
        """The tokens of a text, at least; an estimate errs upwards."""
        ...

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        """The answer, piece by piece, ended by a chunk with the finish reason."""
        ...

    async def check(self) -> None:
        """Ask what stands behind the model whether it would answer; cheap. Raises ChatError with the reason."""
        ...

    async def close(self) -> None: ...


async def complete(model: ChatModel, messages: Sequence[Message], decoding: Decoding) -> Reply:
    """The whole answer at once."""
    return await gathered(model.stream(messages, decoding))


async def gathered(chunks: AsyncGenerator[Chunk, None]) -> Reply:
    """The answer that these pieces make."""
    texts, finish_reason, usage = [], "stop", Usage()
    async for chunk in chunks:
        texts.append(chunk.text)
        finish_reason = chunk.finish_reason or finish_reason
        usage = chunk.usage or usage
    return Reply("".join(texts), finish_reason, usage)
