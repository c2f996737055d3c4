"""What a model reads of a prompt."""

from __future__ import annotations

from pearl.models.chat.base import Message
from pearl.models.chat.gguf_chat import GgufChatModel


def read_back(model: GgufChatModel, messages: list[Message]) -> str:
    """A prompt as the model reads it: plain tokens as their text, control tokens in braces."""
    engine, written = model._loaded()
    marks = {token: f"{{{mark}}}" for mark, token in written.marks.items()}
    text, run = "", list[int]()
    for token in [*written.prompt(messages), -1]:
        if token >= 0 and token not in marks:
            run.append(token)
            continue
        text += engine._call("/detokenize", tokens=run)["content"] + marks.get(token, "")
        run = []
    return text
