"""A chat model whose answers are written by the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from pearl.models.chat.base import ChatModel, Chunk, Decoding, Message, Reply, complete
from pearl.models.runtime.ray_workers import Made, Workers
from pearl.settings import Settings, load_settings

Asked: TypeAlias = tuple[Sequence[Message], Decoding]
MakeModel: TypeAlias = Callable[[Settings, int], ChatModel]  # of the settings, for so many calls at once


class RayChatModel:
    """A chat model that has copies of a model in Ray workers answer; the copy in this process only counts tokens."""

    def __init__(self, here: ChatModel, workers: Workers[Asked, Reply]) -> None:
        self._here = here
        self._workers = workers
        self.name = here.name
        self.identity = str(getattr(here, "identity", here.name))
        self.continues = here.continues

    @property
    def context_tokens(self) -> int:
        return self._here.context_tokens

    def count_tokens(self, text: str) -> int:
        return self._here.count_tokens(text)

    async def answer(self, messages: Sequence[Message], decoding: Decoding) -> Reply:
        """Have a worker answer. Raises ChatError as the model does, and PearlError if workers are lost."""
        return await self._workers.run((messages, replace(decoding, began=None)))  # another machine's clock

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        reply = await self.answer(messages, decoding)
        yield Chunk(reply.text)
        yield Chunk(finish_reason=reply.finish_reason, usage=reply.usage)

    async def check(self) -> None:
        """Return at once: anything missing in a worker shows when it starts."""

    async def close(self) -> None:
        await self._workers.close()
        await self._here.close()


def of_workers(here: ChatModel, settings: Settings, calls: int, make: MakeModel) -> RayChatModel:
    """Make a chat model that answers in the workers of the settings' cluster. ``here``: the copy in this process;
    ``calls``: calls at once per worker; ``make``: makes the model in a worker."""
    assert settings.cluster is not None
    identity = getattr(here, "identity", here.name)
    return RayChatModel(here, Workers(settings.cluster, partial(_made, make, settings, calls), calls, identity))


def _made(make: MakeModel, settings: Settings, calls: int) -> Made[Asked, Reply]:
    """The model in a worker, loaded, from the weights of the worker's own machine."""
    model = make(settings.of_worker(load_settings().home), calls)
    if load := getattr(model, "load", None):
        load()
    whole = getattr(model, "answer", None) or partial(complete, model)

    async def work(asked: Asked) -> Reply:
        reply: Reply = await whole(*asked)
        return reply

    return getattr(model, "identity", model.name), work
