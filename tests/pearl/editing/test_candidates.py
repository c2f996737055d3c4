"""Candidates are an editor's replies, executed; what fails is counted by its reason."""

from __future__ import annotations

import asyncio

import pytest

from pearl.asking.patience import Failed
from pearl.chat.base import Chunk, Reply
from pearl.editing.candidates import candidate_of, failures, refused_edits, write_candidates
from pearl.editing.edits import SpanEdit
from pearl.editing.prompt import BEGUN, reply_of
from pearl.errors import ChatTimeout
from pearl.records import Usage

DRAFT = "The sea was grey and loud."


def reply(*edits):
    return Reply(reply_of(edits, "..."), "stop", Usage(10, 5))


def test_a_reply_becomes_the_draft_with_its_edits():
    found = candidate_of(DRAFT, reply(SpanEdit("sea", "bay", "Cliche"), SpanEdit("sky", "hill", "Cliche")))
    assert found.text == "The bay was grey and loud."
    assert refused_edits([found]) == {"missing": 1}


@pytest.mark.parametrize(
    ("answer", "failure", "refused"),
    [
        (Failed("llm_timeout"), "llm_timeout", {}),
        (Reply("The bay was grey.", "stop", Usage()), "no_parts", {}),
        (reply(), "no_edit", {}),
        (reply(SpanEdit("sky", "hill", "Cliche")), "not_executed", {"missing": 1}),
        (reply(SpanEdit("sea", "sea", "Cliche")), "not_executed", {"unchanged": 1}),
        (reply(SpanEdit(DRAFT, "", "Cliche")), "not_executed", {}),
    ],
)
def test_a_reply_that_gives_no_other_text_is_a_failure(answer, failure, refused):
    found = candidate_of(DRAFT, answer)
    assert (found.text, found.failure) == (None, failure)
    assert refused_edits([found]) == refused


def test_reasoning_before_the_parts_is_left_out():
    thought = Reply(
        "<think>Part 1? Part 2?\nPart 1: no</think>" + reply(SpanEdit("sea", "bay", "Cliche")).text, "stop", Usage()
    )
    assert candidate_of(DRAFT, thought).text == "The bay was grey and loud."


def test_a_reply_that_was_begun_goes_on_behind_its_beginning():
    whole = reply(SpanEdit("sea", "bay", "Cliche")).text
    for text in (whole.removeprefix(BEGUN), whole):
        assert candidate_of(DRAFT, Reply(text, "stop", Usage()), begun=True).text == "The bay was grey and loud."


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
    found, _ = asyncio.run(write_candidates(slow, DRAFT, "", 20, 0.05))
    assert found[0].text == "The bay was grey and loud."
    assert failures(found) == {"out_of_time": 19}
    assert slow.left_early == len(slow.calls)


def test_a_draft_that_does_not_fit_fails_every_candidate(fake):
    found, _ = asyncio.run(write_candidates(fake, "word " * 1500, "", 2, 60.0))
    assert failures(found) == {"context_length_exceeded": 2}
    assert fake.calls == []
