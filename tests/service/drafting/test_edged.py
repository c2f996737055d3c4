"""A draft between its edges: once, whatever the model wrote, in whatever pieces it comes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from pearl.records import Document
from pearl.text.templates import change_template
from service.drafting.drafter import Delta, DraftJob, Event
from service.drafting.edged import UNFRAMED, Frame, FrameFilter, frame_of

NAMES = ("Tomas", "Dev", "Mr Pellow", "Nan")
HISTORY = [
    Document(f"d{number}", f"Hello {name}, kettle's on.\n\nShort answer: have rail {number}.\n\nMind the tide,\nOtti")
    for number, name in enumerate(NAMES)
]
REQUEST = "Ask Mr Pellow politely not to remove the rack"
BEFORE, AFTER = "Hello Mr Pellow, kettle's on.\n\nShort answer: ", "\n\nMind the tide,\nOtti"


def framed(frame: Frame, answer: str, size: int) -> tuple[str, list[str]]:
    text = FrameFilter(frame)
    pieces = []
    for start in range(0, len(answer), size):
        pieces.append(text.feed(answer[start : start + size]))
        if text.ended:
            break
    return frame.edges.before + "".join(pieces) + text.finish(), [note.code for note in text.notes]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("answer", "between", "notes"),
    [
        (" please leave it.", "please leave it.", []),
        ("\n\nplease leave it.\n\nMind the tide,\nOtti", "please leave it.", []),
        ("Hello Mr Pellow, kettle's on.\n\nShort answer: please leave it.", "please leave it.", ["edges_replaced"]),
        ("Dear Mr. Pellow,\n\nplease leave it.\n\nBest regards,\n[Your Name]", "please leave it.", ["edges_replaced"]),
        ("Subject: The rack\n\nplease leave it.", "please leave it.", ["edges_replaced"]),
        ("Dear [Name],\n\nplease leave it.\n\nSincerely, Otti", "please leave it.", ["edges_replaced"]),
        ("Mr Pellow, please leave it.\nThanks,\n\nPellow\nCouncil", "please leave it.", ["edges_replaced"]),
        ("I'm sorry, but I can't assist with that request. Leave it.", "Leave it.", ["courtesies"]),
        ("Leave it.\n\nI'm sorry, but I can't assist with that.", "Leave it.", ["courtesies"]),
        ("leave it.\n\nFeel free to ask.\n\nCome by.", "leave it.\n\nCome by.", ["courtesies"]),
        ("leave it.\n\nI hope this helps!\nPellow", "leave it.", ["courtesies"]),
        ("leave it.\n\nSign-off: Thank you for your prompt response. I'll be in touch.", "leave it.", []),
        ("leave it.\n\nSign off: Thank you.", "leave it.", []),
        # greeted twice, signed twice, signed as the recipient
        ("Hello Mr Pellow,\n\nDear Mr Pellow,\n\nplease leave it.", "please leave it.", ["edges_replaced"]),
        (f"{BEFORE}{BEFORE}leave it.\n\nBest,\nOtti\n\nMind the tide,\nOtti", "leave it.", ["edges_replaced"]),
        ("please leave it.\n\nMr Pellow", "please leave it.", ["edges_replaced"]),
        ("leave it.\n\nRegards,\nMr Pellow", "leave it.", ["edges_replaced"]),
        ("leave it.\n\nPellow\n\nhas it, too.", "leave it.\n\nPellow\n\nhas it, too.", []),
        ("leave it.\n\n- Otti", "leave it.", ["edges_replaced"]),
        ("leave it.\n\n---", "leave it.\n\n---", []),
        ("leave it.\n\nThanks!\n\nCome by for tea, then.", "leave it.\n\nThanks!\n\nCome by for tea, then.", []),
        ("Yes, leave it. I hope this finds you well. Come by.", "Yes, leave it. Come by.", ["courtesies"]),
        ("I hope you are well. Leave it.\n\nFeel free to ask.", "Leave it.", ["courtesies"]),
        ("it holds [number] bikes, [Recipient's Name].", "it holds … bikes, Mr Pellow.", ["placeholders"]),
        ("it is mine ([Your Name]), [see](http://a.example), a[0] <b>", None, ["placeholders"]),
        ("1) one\n2) two", "1) one\n2) two", []),
        ("Feel free to ask.\n", "Feel free to ask.", []),
    ],
)
def test_the_persons_edges_stand_there_once(answer, between, notes, size):
    frame = frame_of(HISTORY, REQUEST, None, "")
    expected = answer.replace("[Your Name]", "Otti") if between is None else between
    text, found = framed(frame, answer, size)
    assert (text.rstrip(" "), sorted(set(found) - {"edges_replaced"})) == (
        f"{BEFORE}{expected}{AFTER}",
        sorted(set(notes) - {"edges_replaced"}),
    )


def test_what_the_person_writes_is_no_courtesy():
    used = [*HISTORY, Document("d9", "Hello Bea, kettle's on.\n\nShort answer: no. Feel free to ask Pim.")]
    text, notes = framed(frame_of(used, REQUEST, None, ""), "leave it. Feel free to ask Pim.", 5)
    assert ("Feel free to ask Pim." in text, notes) == (True, [])


@pytest.mark.parametrize("instructions", ["Sign as O. Brandt.", "No greeting please", "Beginne ohne Anrede."])
def test_instructions_on_edges_outrank_them(instructions):
    frame = frame_of(HISTORY, REQUEST, None, instructions)
    assert (frame.edges.before, frame.edges.after) == ("", "")


def test_texts_in_another_language_than_the_draft_have_no_edges_for_it():
    request = "Schreib Herrn Pellow auf Deutsch, dass das Rad fertig ist und er es am Montag holen kann"
    assert frame_of(HISTORY, request, None, "").edges.before == ""


@pytest.mark.parametrize(("answer", "left"), [("please leave the", " please leave the"), ("", ""), (" \n", "")])
def test_what_was_cut_off_and_what_is_nothing_is_not_signed(answer, left):
    text = FrameFilter(frame_of(HISTORY, REQUEST, None, ""))
    assert text.feed(answer) + text.finish(cut_off=bool(left)) == left


def test_without_a_frame_the_text_stays_as_it_is():
    answer = "Dear [Name],\n\nfeel free to ask.\n\nBest regards,\n[Your Name]"
    assert framed(UNFRAMED, answer, 4) == (answer, [])


def write(pearl: Any, job: DraftJob, *history: str) -> list[Event]:
    texts = enumerate(history or [document.text for document in HISTORY])
    pearl.add("ann", *(Document(f"d{day}", text, 1000.0 + day, voice=job.voice) for day, text in texts))

    async def collect() -> list[Event]:
        async with aclosing(pearl.services.drafter.draft(pearl.user("ann"), job)) as events:
            return [event async for event in events]

    return asyncio.run(collect())


@pytest.mark.parametrize("continues", [False, True])
def test_a_draft_begins_with_what_is_known_and_the_model_goes_on(pearl: Any, continues: bool) -> None:
    pearl.model.continues = continues
    answer = "please leave it.\n\nBest,\nAnn" if continues else f"<document>\n{BEFORE}please leave it.\n</document>"
    pearl.model.replies.append(answer)
    events = write(pearl, DraftJob(REQUEST))
    assert events[1] == Delta(BEFORE.strip())  # before the model has read anything
    assert "".join(event.text for event in events if isinstance(event, Delta)) == events[-1].draft.text
    assert events[-1].draft.text == f"{BEFORE}please leave it.{AFTER}"
    assert events[-1].draft.edges.greeting.text == "Hello Mr Pellow, kettle's on."
    last = pearl.model.calls[0][0][-1]
    known = (BEFORE.split("\n")[0] in last.content, "Short answer:" in last.content)  # behind which it repeats a note
    assert (last.role, known) == ("assistant" if continues else "user", (True, False))


ABOUT_HIM = "Short answer: he has it. Pellow was asked twice."


@pytest.mark.parametrize("again", ["please leave it, Mr Pellow. Mr Pellow, is it safe?", ABOUT_HIM])
def test_a_text_about_its_addressee_is_written_again(pearl: Any, again: str) -> None:
    pearl.model.continues = True
    pearl.model.replies += [ABOUT_HIM, ABOUT_HIM, again]
    events = write(pearl, DraftJob(REQUEST))
    draft, calls = events[-1].draft, pearl.model.calls
    assert draft.text == f"{BEFORE}{again.removeprefix('Short answer: ')}{AFTER}"
    assert "".join(event.text for event in events if isinstance(event, Delta)) == draft.text
    assert (calls[0][0], [decoding.temperature > 0 for _, decoding in calls]) == (calls[2][0], [False, True, True])
    assert [note.code for note in draft.retrieval.notes if note.code == "asked_again"] == ["asked_again"]


@pytest.mark.parametrize(
    ("request_text", "told"),
    [
        (REQUEST, "Write Otti's text to Mr Pellow. What Otti wants of it:"),
        ("Dev, who has a cold, asks for the chains", "Write Otti's answer to Dev. What happened:"),
        ("Dev: may I come?", "Write Otti's answer to this text:"),
        ("the price of chains", "Write the author's text for this:"),
    ],
)
def test_the_model_is_told_who_writes_to_whom(pearl: Any, request_text: str, told: str) -> None:
    pearl.model.replies.append("please leave it.")
    write(pearl, DraftJob(request_text))
    assert f"{told}\n<request>\n{request_text}" in pearl.model.calls[0][0][-1].content


@pytest.mark.parametrize(
    ("of_voice", "of_job", "there"), [(True, False, False), (False, None, False), (False, True, True)]
)
def test_edges_can_be_switched_off(pearl: Any, of_voice: bool, of_job: bool | None, there: bool) -> None:
    pearl.voice("ann", "email", edges=of_voice)
    pearl.model.replies.append("please leave it.")
    draft = write(pearl, DraftJob(REQUEST, "email", edges=of_job))[-1].draft
    assert (draft.text == "please leave it.", draft.edges is None) == (not there, not there)


@pytest.mark.parametrize(
    ("edges", "text"), [(True, "rails: drop rail 3\n\nIt broke."), (False, "Drop rail 3.\n\nIt broke.")]
)
def test_a_whole_commit_message_is_brought_into_the_persons_form(pearl: Any, edges: bool, text: str) -> None:
    pearl.model.replies.append("<document>\nDrop rail 3.\n\nIt broke.\n</document>")
    messages = [f"rails: drop number {number}\n\nNobody needs it." for number in range(6)]
    job = DraftJob("src/rails.c\n\n1 line changed", template=change_template(), edges=edges)
    draft = write(pearl, job, *messages)[-1].draft
    assert draft.text == text
    assert [note.code for note in draft.retrieval.notes if note.code == "edges_replaced"] == ["edges_replaced"] * edges
