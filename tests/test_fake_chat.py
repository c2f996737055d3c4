from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from pearl.chat.base import Chunk, Decoding, Message, Reply, complete
from pearl.errors import ChatInterrupted, ChatTimeout
from pearl.records import Usage
from tests.fake_chat import FakeChatModel

ASKED = [Message("user", "one two three")]


def ask(model: FakeChatModel) -> Reply:
    return asyncio.run(complete(model, ASKED, Decoding()))


def test_replies_come_from_the_queue_then_a_default():
    model = FakeChatModel(["First one.", "Second."])
    assert [ask(model).text for _ in range(3)] == ["First one.", "Second.", "A fake reply."]
    assert [messages for messages, _ in model.calls] == [ASKED] * 3


def test_streamed_word_by_word_with_the_usage_at_the_end():
    async def chunks() -> list[Chunk]:
        return [chunk async for chunk in FakeChatModel(["Dear  Bo,\nyes."]).stream(ASKED, Decoding())]

    assert asyncio.run(chunks()) == [
        Chunk("Dear "),
        Chunk(" "),
        Chunk("Bo,\nyes."),
        Chunk(finish_reason="stop", usage=Usage(3, 3)),
    ]


def test_an_error_in_place_of_a_reply_or_within_it():
    model = FakeChatModel([ChatTimeout("slow"), ("Dear ", ChatInterrupted("gone")), ""])
    with pytest.raises(ChatTimeout):
        ask(model)

    texts = []

    async def read() -> None:
        async for chunk in model.stream(ASKED, Decoding()):
            texts.append(chunk.text)

    with pytest.raises(ChatInterrupted):
        asyncio.run(read())
    assert texts == ["Dear "]
    assert ask(model).text == ""


def test_it_notices_a_reader_who_leaves():
    model = FakeChatModel(["one two three"])

    async def leave() -> None:
        async with aclosing(model.stream(ASKED, Decoding())) as chunks:
            await anext(chunks)

    asyncio.run(leave())
    assert model.left_early == 1
