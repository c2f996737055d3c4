"""Hide personal data from a chat model outside this machine, and put them back into its answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from pearl.models.chat.base import ChatModel, Chunk, Decoding, Message
from pearl.models.chat.choose import writes_here
from pearl.settings import Settings
from pearl.style.claims.personal import ADVICE, Mask, Restorer
from service.process.threads import in_reading_thread


class MaskedModel:
    """A chat model that gets placeholders in place of names, addresses, long numbers and links."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.continues = model.continues
        self.count_tokens = model.count_tokens
        self.check = model.check
        self.close = model.close

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        mask, sent = await in_reading_thread(hide, messages)
        restorer = Restorer(mask)
        async with aclosing(self._model.stream(sent, decoding)) as chunks:
            async for chunk in chunks:
                yield replace(chunk, text=restorer.feed(chunk.text, last=chunk.finish_reason is not None))
        if rest := restorer.feed("", last=True):
            yield Chunk(rest)


def hide(messages: Sequence[Message]) -> tuple[Mask, list[Message]]:
    """Replace personal data in the messages; return the placeholders, and the messages with an explanation of them."""
    mask = Mask([message.content for message in messages])
    sent = [replace(message, content=text) for message, text in zip(messages, mask.hidden, strict=True)]
    if mask:
        advised = sent[0].role == "system"
        first = f"{sent[0].content}\n\n{ADVICE}" if advised else ADVICE
        sent = [Message("system", first), *sent[advised:]]
    return mask, sent


def masked(settings: Settings, model: ChatModel) -> ChatModel:
    """Wrap the model as the settings want it: if it runs on another machine, personal data are hidden from it."""
    return MaskedModel(model) if settings.mask_personal and not writes_here(settings) else model
