"""Candidates are an editor's replies, executed; what fails is counted by its reason."""

from __future__ import annotations

import pytest

from pearl.models.asking.patience import Failed
from pearl.models.chat.base import Reply
from pearl.records import Usage
from pearl.style.editing.candidates import candidate_of, refused_edits
from pearl.style.editing.edits import SpanEdit
from pearl.style.editing.prompt import reply_of

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
