"""With a clock that only sleeping moves."""

from __future__ import annotations

import asyncio

import pytest

from pearl.errors import ChatError, ChatRateLimited, ChatRefused, ChatRejected, ChatTimeout, ContextExceeded
from pearl.models.asking.patience import DOWN, LONGEST_LIMIT_S, LONGEST_PAUSE_S, OUT_OF_TIME, TRIES, Failed, Patience
from pearl.models.chat.base import Decoding, Message, Reply
from pearl.records import Usage

REPLY = Reply("BOTH", "stop", Usage(1, 1))
ASKED = ((Message("user", "?"),), Decoding())


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        await asyncio.sleep(0)  # others sleep in the meantime
        self.now = max(self.now, until)


class Endpoint:
    """Fails until a moment of the clock; ``until`` is seconds from the start."""

    def __init__(self, clock: Clock, error: Exception, until: float) -> None:
        self.clock, self.error, self.until = clock, error, clock.now + until
        self.calls: list[tuple] = []

    async def ask(self, messages, decoding) -> Reply:
        self.calls.append((messages, decoding))
        refused = self.clock.now < self.until
        await asyncio.sleep(0)  # under way
        if refused:
            raise self.error
        return REPLY


@pytest.fixture
def clock():
    return Clock()


def patience(endpoint, told=lambda seconds: None):
    return Patience(endpoint.ask, told, clock=endpoint.clock, sleep=endpoint.clock.sleep)


def test_a_rate_limit_of_a_minute_is_waited_out(clock):
    waits = []
    endpoint = Endpoint(clock, ChatRateLimited("slow down"), until=60)
    assert asyncio.run(patience(endpoint, waits.append).answer(*ASKED)) == REPLY
    assert clock.now - 100 >= 60
    assert waits == [1, 2, 4, 8, 16, 30]
    assert set(endpoint.calls) == {ASKED}  # unchanged


def test_as_long_as_the_endpoint_says(clock):
    waits = []
    endpoint = Endpoint(clock, ChatRateLimited("slow down", retry_after=45.0), until=60)
    asyncio.run(patience(endpoint, waits.append).answer(*ASKED))
    assert waits == [45, 45]


def test_one_limit_holds_for_all_calls(clock):
    endpoint = Endpoint(clock, ChatRateLimited("slow down", retry_after=20.0), until=15)
    asker = patience(endpoint)

    async def all_at_once():
        return await asyncio.gather(*(asker.answer(*ASKED) for _ in range(50)))

    assert asyncio.run(all_at_once()) == [REPLY] * 50
    assert len(endpoint.calls) == 100  # each was told once
    assert asker.repeated == 50


def test_when_the_time_is_up_nobody_waits_for_the_limit(clock):
    endpoint = Endpoint(clock, ChatRateLimited("slow down", retry_after=600.0), until=1e9)
    asker = Patience(endpoint.ask, lambda seconds: None, go_on=lambda: clock.now < 145, clock=clock, sleep=clock.sleep)
    assert asyncio.run(asker.answer(*ASKED)) == Failed(OUT_OF_TIME)
    assert clock.now < 100 + 45 + LONGEST_PAUSE_S + 1
    assert len(endpoint.calls) == 1


def test_a_limit_for_ever_ends_the_run(clock):
    endpoint = Endpoint(clock, ChatRateLimited("slow down"), until=1e9)
    with pytest.raises(ChatRateLimited):
        asyncio.run(patience(endpoint).answer(*ASKED))
    assert LONGEST_LIMIT_S / 2 < clock.now - 100 <= LONGEST_LIMIT_S + 60


def test_a_limit_until_tomorrow_is_not_waited_for(clock):
    endpoint = Endpoint(clock, ChatRateLimited("slow down", retry_after=3600.0), until=1e9)
    with pytest.raises(ChatRateLimited):
        asyncio.run(patience(endpoint).answer(*ASKED))
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize("error", [ChatError("500"), ChatTimeout("late"), ChatError("gone", code="llm_unreachable")])
def test_what_fails_now_and_then_is_repeated(clock, error):
    endpoint = Endpoint(clock, error, until=0.6)
    assert asyncio.run(patience(endpoint).answer(*ASKED)) == REPLY
    assert set(endpoint.calls) == {ASKED}


def test_what_keeps_failing_is_a_failure_and_then_the_end(clock):
    endpoint = Endpoint(clock, ChatError("500"), until=1e9)
    asker = patience(endpoint)
    for _ in range(DOWN - 1):
        assert asyncio.run(asker.answer(*ASKED)) == Failed("llm_error")
    assert len(endpoint.calls) == (DOWN - 1) * TRIES
    with pytest.raises(ChatError):
        asyncio.run(asker.answer(*ASKED))


@pytest.mark.parametrize("error", [ChatRefused("no"), ContextExceeded("too long")])
def test_what_only_this_question_does_is_not_repeated(clock, error):
    endpoint = Endpoint(clock, error, until=1e9)
    asker = patience(endpoint)
    for _ in range(2 * DOWN):
        assert asyncio.run(asker.answer(*ASKED)) == Failed(error.code)
    assert len(endpoint.calls) == 2 * DOWN


def test_questions_that_are_rejected_are_no_sign_that_the_endpoint_is_down(clock):
    asker = patience(endpoint := Endpoint(clock, ChatError("500"), until=0))
    assert asyncio.run(asker.answer(*ASKED)) == REPLY
    endpoint.until = 1e9
    for place in range(2 * DOWN):
        endpoint.error = (ChatError("500"), ChatRejected("400"))[place % 2]
        assert asyncio.run(asker.answer(*ASKED)) == Failed(("llm_error", "llm_rejected")[place % 2])
    assert len(endpoint.calls) == 1 + DOWN * TRIES + DOWN


def test_where_none_but_rejections_come_the_run_ends(clock):
    """As from a model that does not take one of the parameters."""
    asker = patience(endpoint := Endpoint(clock, ChatRejected("400"), until=1e9))
    for _ in range(DOWN - 1):
        assert asyncio.run(asker.answer(*ASKED)) == Failed("llm_rejected")
    with pytest.raises(ChatRejected):
        asyncio.run(asker.answer(*ASKED))
    assert len(endpoint.calls) == DOWN


def test_after_a_good_answer_an_unreadable_one_is_asked_for_again(clock):
    asker = patience(endpoint := Endpoint(clock, ChatError("html", code="llm_unreadable"), until=0))
    assert asyncio.run(asker.answer(*ASKED)) == REPLY
    endpoint.until = clock.now + 0.6
    assert asyncio.run(asker.answer(*ASKED)) == REPLY
    assert asker.repeated > 0
    endpoint.until = 1e9
    for _ in range(DOWN - 1):
        assert asyncio.run(asker.answer(*ASKED)) == Failed("llm_unreadable")
    with pytest.raises(ChatError):
        asyncio.run(asker.answer(*ASKED))


@pytest.mark.parametrize("code", ["llm_key_refused", "llm_not_found", "llm_unreadable"])
def test_what_every_question_would_do_ends_the_run(clock, code):
    endpoint = Endpoint(clock, ChatError("no", code=code), until=1e9)
    with pytest.raises(ChatError):
        asyncio.run(patience(endpoint).answer(*ASKED))
    assert len(endpoint.calls) == 1
