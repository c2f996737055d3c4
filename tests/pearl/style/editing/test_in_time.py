"""Candidates within a time limit: each has its seed, and what is late is cancelled and counted."""

from __future__ import annotations

import asyncio

from pearl.errors import ChatTimeout
from pearl.models.chat.base import Chunk, Reply
from pearl.records import Usage
from pearl.style.editing.candidates import failures, write_candidates
from pearl.style.editing.edits import SpanEdit
from pearl.style.editing.prompt import reply_of
from tests.fake_chat import FakeChatModel

DRAFT = "The sea was grey and loud."


class SmallModel(FakeChatModel):
    continues = True


class IdleTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose time stands still while there is something to do, and jumps to the next timer when there is not."""

    def __init__(self):
        super().__init__()
        self._now = 0.0
        wait = self._selector.select

        def jump(timeout=None):
            self._now += timeout or 0.0
            return wait(0 if timeout else timeout)

        self._selector.select = jump

    def time(self):
        return self._now


def reply(*edits):
    return Reply(reply_of(edits, "..."), "stop", Usage(10, 5))


def test_every_candidate_is_asked_for_with_its_own_seed(fake):
    fake.replies.extend([reply(SpanEdit("sea", "bay", "Cliche")).text, ChatTimeout("late"), "nothing"])
    found, usage = asyncio.run(write_candidates(fake, DRAFT, "", 3, 60.0))
    assert [candidate.failure for candidate in found] == [None, "llm_timeout", "no_parts"]
    assert failures(found) == {"llm_timeout": 1, "no_parts": 1}
    assert sorted(decoding.seed for _, decoding in fake.calls) == [0, 1, 2]
    assert {decoding.temperature for _, decoding in fake.calls} == {0.7}
    assert usage.completion_tokens > 0


def test_what_is_not_there_when_the_time_is_up_is_cancelled(fake):
    class Slow(type(fake)):
        async def stream(self, messages, decoding):
            if decoding.seed == 0:
                yield Chunk(reply(SpanEdit("sea", "bay", "Cliche")).text)
                yield Chunk(finish_reason="stop", usage=Usage(1, 1))
                return
            self.calls.append((messages, decoding))
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.left_early += 1
                raise
            yield Chunk()

    slow = Slow()
    with asyncio.Runner(loop_factory=IdleTimeLoop) as runner:
        found, _ = runner.run(write_candidates(slow, DRAFT, "", 20, 60.0))
    assert found[0].text == "The bay was grey and loud."
    assert failures(found) == {"out_of_time": 19}
    assert slow.left_early == len(slow.calls)


def test_a_model_on_this_machine_is_asked_for_one_candidate_after_the_other():
    small = SmallModel([reply(SpanEdit("sea", "bay", "Cliche")).text, ChatTimeout("late")])
    found, _ = asyncio.run(write_candidates(small, DRAFT, "", 2, 60.0))
    assert [candidate.text for candidate in found] == ["The bay was grey and loud.", None]
    assert failures(found) == {"llm_timeout": 1}
    assert [decoding.seed for _, decoding in small.calls] == [0, 1]


def test_a_draft_that_does_not_fit_fails_every_candidate(fake):
    found, _ = asyncio.run(write_candidates(fake, "word " * 1500, "", 2, 60.0))
    assert failures(found) == {"context_length_exceeded": 2}
    assert fake.calls == []
