"""Several texts for one request: what sets them apart, and what is left out."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from pearl.errors import ChatInterrupted
from pearl.models.chat.base import Decoding
from pearl.records import Draft, Usage
from retriever.base import Calibration
from service.drafting.drafter import Delta, DraftJob, Ended, Event, Finished
from service.drafting.variants import NewText, Variation

YES, SURE = "Yes, swap away.", "Sure, Bea takes it."


def write(pearl: Any, *replies: Any, variants: int = 2, **wanted: Any) -> list[Event]:
    """The events of a draft for ann."""
    pearl.model.replies.extend(replies)
    job = DraftJob("swap with Bea", variants=variants, **wanted)

    async def collect() -> list[Event]:
        async with aclosing(pearl.services.drafter.draft(pearl.user("ann"), job)) as events:
            return [event async for event in events]

    return asyncio.run(collect())


def finished(events: list[Event]) -> Draft:
    assert isinstance(events[-1], Finished)
    return events[-1].draft


def streamed(events: list[Event]) -> list[tuple[int, str]]:
    """The Deltas, those of one text joined."""
    joined: list[tuple[int, str]] = []
    for event in events:
        if isinstance(event, Delta):
            if not joined or joined[-1][0] != event.variant:
                joined.append((event.variant, ""))
            joined[-1] = (event.variant, joined[-1][1] + event.text)
    return joined


@pytest.fixture
def ann(pearl: Any) -> None:
    pearl.add("ann", "Kettle's on. Swap with Bea.", "The rear wheel is true again.", "Mind the tide, Otti.")


def test_texts_follow_one_another_and_usage_is_the_sum(pearl: Any, ann: None) -> None:
    events = write(pearl, YES, SURE, "Of course.", variants=3)
    draft = finished(events)
    assert streamed(events) == [(0, YES), (1, SURE), (2, "Of course.")]
    assert [event.index for event in events if isinstance(event, Ended)] == [0, 1, 2]
    assert [variant.text for variant in draft.variants] == [YES, SURE, "Of course."]
    assert draft.text == YES
    read = [sum(len(message.content.split()) for message in asked) for asked, _ in pearl.model.calls]
    assert draft.usage == Usage(sum(read), 3 + 4 + 2)


def test_each_has_other_documents_next_to_the_request_and_other_decoding(pearl: Any, ann: None) -> None:
    draft = finished(write(pearl, YES, SURE, "Of course.", variants=3, k=3))
    shown = [variant.documents for variant in draft.variants]
    assert [set(ids) for ids in shown] == [{"d1", "d2", "d3"}] * 3
    assert len({ids[0] for ids in shown}) == 3
    assert shown[0] == tuple(scored.document.id for scored in draft.retrieval.documents)
    decodings = [decoding for _, decoding in pearl.model.calls]
    assert [(decoding.temperature, decoding.seed) for decoding in decodings] == [(0.0, 0), (0.7, 1), (0.7, 2)]


def test_without_variants_nothing_changes(pearl: Any, ann: None) -> None:
    events = write(pearl, YES, variants=1)
    assert not any(isinstance(event, Ended) for event in events)
    assert finished(events).variants == ()
    assert pearl.model.calls[0][1].temperature == 0


def test_the_temperature_that_was_asked_for_stays() -> None:
    asked = Decoding(temperature=0.2, seed=5)
    assert [Variation(number).decoding(asked).temperature for number in (0, 1)] == [0.2, 0.2]
    assert Variation(1, attempt=1).decoding(asked).temperature == 1.0
    assert len({Variation(number, attempt).decoding(asked).seed for number in (1, 2) for attempt in (0, 1)}) == 4


def test_the_same_text_is_asked_once_more(pearl: Any, ann: None) -> None:
    events = write(pearl, YES, "Yes,\n swap   away. ", SURE)
    assert streamed(events) == [(0, YES), (1, SURE)]
    assert [decoding.temperature for _, decoding in pearl.model.calls] == [0.0, 0.7, 1.0]
    assert finished(events).retrieval.notes == ()


def test_the_same_text_twice_is_left_out_and_said(pearl: Any, ann: None) -> None:
    events = write(pearl, YES, YES, YES, SURE, variants=3)
    draft = finished(events)
    assert streamed(events) == [(0, YES), (1, SURE)]
    assert [variant.text for variant in draft.variants] == [YES, SURE]
    (note,) = draft.retrieval.notes
    assert (note.code, note.message.split(":")[0]) == ("same_variant", "Left out 1 variant")
    assert len(pearl.model.calls) == 4


@pytest.mark.parametrize(
    ("reply", "sent"),
    [
        (ChatInterrupted("It broke off."), []),
        (("<document>\n", "Bea ", "takes ", "it.", ChatInterrupted("It broke off.")), [(1, "Bea takes it.")]),
        ((YES, ChatInterrupted("It broke off.")), []),  # held back: it was the first text so far
    ],
)
def test_a_variant_that_fails_leaves_those_before_it(pearl: Any, ann: None, reply: Any, sent: Any) -> None:
    events = write(pearl, YES, reply, variants=3)
    draft = finished(events)
    assert streamed(events) == [(0, YES), *sent]
    assert [variant.text for variant in draft.variants] == [YES]
    (note,) = draft.retrieval.notes
    assert (note.code, note.message) == ("variant_failed", "Left out 2 variants: It broke off.")
    assert len(pearl.rows("drafts")) == 1


def test_a_first_text_that_fails_is_an_error(pearl: Any, ann: None) -> None:
    with pytest.raises(ChatInterrupted):
        write(pearl, ChatInterrupted("It broke off."))
    assert pearl.rows("drafts") == []


def test_each_is_revised_if_one_is(pearl: Any, ann: None) -> None:
    revised = "EDITED DRAFT\n<document>\n{}\n</document>"
    draft = finished(write(pearl, "A.", revised.format(YES), "B.", revised.format(SURE), revise="always"))
    assert [(variant.text, variant.stage) for variant in draft.variants] == [(YES, "revised"), (SURE, "revised")]


def test_questions_have_no_variants(pearl: Any, ann: None, fixed_retriever: Any) -> None:
    pearl.retrieve_with(fixed_retriever({}, Calibration(4.0, None, 3.5)))
    draft = finished(write(pearl, "- When?"))
    assert (draft.questions, draft.variants) == (("When?",), ())


def test_one_document_is_enough(pearl: Any) -> None:
    pearl.add("ann", "Kettle's on. Swap with Bea.")
    assert [variant.documents for variant in finished(write(pearl, YES, SURE)).variants] == [("d1",)] * 2


@pytest.mark.parametrize(
    ("earlier", "pieces", "given", "new"),
    [
        ((), ("A ", "b"), ["A ", "b"], True),
        (("A b c",), ("A ", "b ", "d ", "e"), ["", "", "A b d ", "e"], True),
        (("A b c",), ("A ", "b ", "c"), ["", "", ""], False),
        (("A b c",), ("A\n", "b ", " c\n"), ["", "", ""], False),
        (("A b c",), ("A ", "b"), ["", ""], True),  # the beginning of another is a text
        (("A b", "A c"), ("A ", "c", "!"), ["", "", "A c!"], True),
        (("A b", "A c"), ("A ", "c"), ["", ""], False),
    ],
)
def test_a_text_is_held_back_while_it_may_be_an_earlier_one(
    earlier: tuple[str, ...], pieces: tuple[str, ...], given: list[str], new: bool
) -> None:
    text = NewText(earlier)
    assert [text.feed(piece) for piece in pieces] == given
    assert text.is_new == new
    assert "".join([*given, text.finish()]) == "".join(pieces)
