from __future__ import annotations

import asyncio

import pytest

from pearl.errors import ChatError, ChatTimeout
from pearl.models.chat.base import Decoding, Message, complete
from service.process.model_watch import CHECKED_S, FAILED_S, WatchedModel
from tests.fake_chat import FakeChatModel

ASKED = [Message("user", "write")]


class CountingModel(FakeChatModel):
    """Counts how often it was asked whether it would answer."""

    checks = 0

    async def check(self) -> None:
        self.checks += 1
        await asyncio.sleep(0)
        await super().check()


def watched(model: FakeChatModel) -> tuple[WatchedModel, list[str], list[float]]:
    """The model, the codes it failed with, and a clock to set."""
    codes: list[str] = []
    time = [1000.0]
    return WatchedModel(model, codes.append, lambda: time[0]), codes, time


def test_everything_is_passed_on() -> None:
    model = FakeChatModel(["Two words"], name="m", context_tokens=123)
    watch, codes, _ = watched(model)
    assert (watch.name, watch.context_tokens, watch.continues, watch.count_tokens("a b")) == ("m", 123, False, 2)
    assert asyncio.run(complete(watch, ASKED, Decoding())).text == "Two words"
    assert codes == []


def test_it_is_asked_now_and_then_and_by_one_at_a_time() -> None:
    model = CountingModel()
    watch, codes, time = watched(model)

    async def probe() -> None:
        assert await asyncio.gather(*(watch.trouble() for _ in range(5))) == [None] * 5
        assert model.checks == 1
        time[0] += CHECKED_S + 1
        model.unwell = ChatError("Away.", code="llm_unreachable")
        assert await asyncio.gather(*(watch.trouble() for _ in range(5))) == ["Away."] * 5
        assert model.checks == 2

    asyncio.run(probe())
    assert codes == ["llm_unreachable"]


def test_a_call_that_was_answered_spares_the_question() -> None:
    model = CountingModel()
    watch, _, _ = watched(model)

    async def probe() -> None:
        await complete(watch, ASKED, Decoding())
        assert await watch.trouble() is None

    asyncio.run(probe())
    assert model.checks == 0


def test_a_failed_call_counts_for_a_while() -> None:
    model = CountingModel([ChatTimeout("Silence.")])
    watch, codes, time = watched(model)

    async def probe() -> None:
        with pytest.raises(ChatTimeout):
            await complete(watch, ASKED, Decoding())
        assert await watch.trouble() == "The last draft failed: Silence."
        time[0] += FAILED_S + 1
        assert await watch.trouble() is None

    asyncio.run(probe())
    assert (codes, model.checks) == (["llm_timeout"], 1)


def test_a_reader_who_leaves_is_no_failure() -> None:
    model = FakeChatModel(["A long answer."])
    watch, codes, _ = watched(model)

    async def leave() -> None:
        stream = watch.stream(ASKED, Decoding())
        await anext(stream)
        await stream.aclose()

    asyncio.run(leave())
    assert (model.left_early, codes) == (1, [])
