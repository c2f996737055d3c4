from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from pearl.clock import Budget
from pearl.errors import ChatRefused
from pearl.models.asking import write as drafts_module
from pearl.models.asking.ask import EMPTY_ANSWER
from pearl.models.asking.kept import open_replies
from pearl.models.asking.patience import OUT_OF_TIME, Unreported
from pearl.models.asking.write import (
    UNREADABLE,
    WritingContext,
    WrittenText,
    write_drafts,
    write_revised,
    write_revisions,
)
from pearl.models.chat.base import Decoding
from pearl.models.prompts import PromptInputs, draft_prompt, revision_prompt, second_prompt
from pearl.records import Document
from pearl.text.answers.marks import CLOSING
from pearl.text.templates import load_template
from tests.fake_chat import FakeChatModel

TEMPLATE = load_template("commit")
DOCUMENTS = (Document("a", "first text", request="asked before"), Document("b", "second text"))
DECODING = Decoding(max_tokens=100, stop=(CLOSING,))


def inputs(request: str, documents: tuple[Document, ...] = DOCUMENTS) -> PromptInputs:
    return PromptInputs(TEMPLATE, request, documents)


@pytest.fixture
def context(tmp_path) -> Iterator[Callable[..., WritingContext]]:
    with open_replies(tmp_path / "kept.sqlite") as kept:
        yield lambda model, **options: WritingContext(model, model.name, DECODING, kept, **options)


@pytest.fixture
def in_turn(monkeypatch) -> None:
    """Case after case, so that a test can say which answer is whose."""
    monkeypatch.setattr(drafts_module, "_order", lambda count: list(range(count)))


def test_a_draft_is_prompted_as_the_service_prompts_it(context):
    model = FakeChatModel(["<document>\nThe draft.\n</document>"])
    asked = inputs("do it")
    assert asyncio.run(write_drafts(context(model), [[asked]])) == [[WrittenText("The draft.")]]
    ((messages, decoding),) = model.calls
    assert tuple(messages) == draft_prompt(asked, model, DECODING.max_tokens).messages
    assert decoding == DECODING


def test_drafts_and_revisions_are_without_lines_that_repeat_the_one_before(context):
    looped = "We met on the old quay.\n" * 3
    model = FakeChatModel([looped, f"EDITED DRAFT\n{looped}"])
    ((drafts, revisions),) = asyncio.run(write_revised(context(model), [[inputs("do it")]]))
    assert drafts == revisions == [WrittenText("We met on the old quay.")]
    assert looped not in model.calls[1][0][-1].content  # what is revised is what would have been shown


def test_each_system_gets_its_drafts_and_equal_prompts_are_written_once(context, in_turn):
    model = FakeChatModel(["x1", "y1", "x2", "y2"])
    nothing = ()
    systems = [[inputs("1"), inputs("2")], [inputs("1"), inputs("2")], [inputs("1", nothing), inputs("2", nothing)]]
    first, same, other = asyncio.run(write_drafts(context(model), systems))
    assert [each.text for each in first] == ["x1", "x2"]
    assert same == first
    assert [each.text for each in other] == ["y1", "y2"]


def test_nothing_and_nothing_but_marks_fail(context, in_turn):
    model = FakeChatModel(["", "<document>\n</document>", ChatRefused("no"), "fine", "", "<document>\n</document>"])
    ((nothing, marks, refused, fine),) = asyncio.run(write_drafts(context(model), [[inputs(str(n)) for n in range(4)]]))
    assert (nothing, marks) == (WrittenText(None, EMPTY_ANSWER), WrittenText(None, EMPTY_ANSWER))
    assert refused == WrittenText(None, "llm_refused")
    assert fine == WrittenText("fine")


def test_an_assistants_answer_is_asked_for_again_once(context, in_turn):
    sorry = "I'm sorry, but I can't assist with that."
    model = FakeChatModel([sorry, sorry, "", "The first.", sorry, "The third."])
    ((first, second, third),) = asyncio.run(write_drafts(context(model), [[inputs(str(n)) for n in range(3)]]))
    assert [text.text for text in (first, second, third)] == ["The first.", sorry, "The third."]
    again = second_prompt(inputs("2"), model, DECODING.max_tokens)
    assert tuple(model.calls[-1][0]) == again.messages


def test_a_request_that_does_not_fit_fails_alone(context):
    model = FakeChatModel(["fine"], context_tokens=600)
    ((long, fine),) = asyncio.run(write_drafts(context(model), [[inputs("word " * 1000), inputs("short")]]))
    assert long == WrittenText(None, "context_length_exceeded")
    assert fine == WrittenText("fine")


def test_a_revision_is_prompted_and_read_as_the_service_does(context):
    model = FakeChatModel(["It lacks a reason.\nEDITED DRAFT\n<document>\nBetter.\n</document>"])
    asked = inputs("do it")
    assert asyncio.run(write_revisions(context(model), [asked], [WrittenText("The draft.")])) == [
        WrittenText("Better.")
    ]
    ((messages, decoding),) = model.calls
    assert decoding.max_tokens == 150
    assert tuple(messages) == revision_prompt(asked, "The draft.", model, 150).messages


def test_a_revision_that_was_begun_is_read_with_its_beginning(context, in_turn):
    model = FakeChatModel(["Better.\n</document>", ""])
    model.continues = True
    found = asyncio.run(
        write_revisions(context(model), [inputs("1"), inputs("2")], [WrittenText("one"), WrittenText("two")])
    )
    assert found == [WrittenText("Better."), WrittenText(None, UNREADABLE)]


def test_an_unreadable_revision_says_so_and_a_failed_draft_is_not_revised(context, in_turn):
    model = FakeChatModel(["Better, no mark.", ChatRefused("no")])
    drafts = [WrittenText("one"), WrittenText(None, EMPTY_ANSWER), WrittenText("two")]
    found = asyncio.run(write_revisions(context(model), [inputs("1"), inputs("2"), inputs("3")], drafts))
    assert found == [WrittenText(None, UNREADABLE), WrittenText(None, EMPTY_ANSWER), WrittenText(None, "llm_refused")]
    assert len(model.calls) == 2


def test_drafts_and_revisions_of_several_systems(context):
    model = FakeChatModel(["d1", "d2", "EDITED DRAFT\nr1", "EDITED DRAFT\nr2"])
    found = asyncio.run(write_revised(context(model), [[inputs("1")], [inputs("1", ())]]))
    assert found == [([WrittenText("d1")], [WrittenText("r1")]), ([WrittenText("d2")], [WrittenText("r2")])]


class Passing(Budget):
    """A tenth of it passes with each call of the model."""

    def __init__(self, model: FakeChatModel) -> None:
        super().__init__(None)
        self.model = model

    def seconds_until(self, share: float) -> float:
        return max(0.0, share - 0.1 * len(self.model.calls))


def test_when_the_time_is_up_some_of_all_cases_are_written(context):
    model = FakeChatModel()
    systems = [[inputs(str(number), documents) for number in range(9)] for documents in (DOCUMENTS, ())]
    first, second = asyncio.run(write_drafts(context(model, budget=Passing(model)), systems))
    written = [place for place, draft in enumerate(first) if draft.text]
    assert len(written) == 5  # both drafts of a case before the next one's
    assert written != list(range(5))
    assert [place for place, draft in enumerate(second) if draft.text] == written
    assert {draft.failure for draft in first + second} == {None, OUT_OF_TIME}


def test_half_of_the_time_is_for_revisions(context):
    model = FakeChatModel(["a draft"] * 5 + ["EDITED DRAFT\nrevised"] * 5)
    systems = [[inputs(str(number)) for number in range(9)]]
    ((drafts, revisions),) = asyncio.run(write_revised(context(model, budget=Passing(model)), systems))
    assert [draft.text for draft in drafts].count("a draft") == 5
    assert [revision.text for revision in revisions].count("revised") == 5
    assert [revision.failure for revision in revisions].count(OUT_OF_TIME) == 4


def test_the_watch_hears_of_what_is_really_generated(context):
    heard: list[tuple[str, int]] = []
    done: list[bool] = []

    class Heard(Unreported):
        def advance(self, failed: bool) -> None:
            done.append(failed)

    def watch(label: str, total: int) -> Heard:
        heard.append((label, total))
        return Heard()

    systems = [[inputs("1"), inputs("2")], [inputs("1"), inputs("3")]]
    asyncio.run(write_drafts(context(FakeChatModel(), watch=watch), systems))
    asyncio.run(write_drafts(context(FakeChatModel(), watch=watch), systems))
    assert heard == [("drafts", 3), ("drafts", 0)]
    assert done == [False] * 3
