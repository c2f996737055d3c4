"""What a calibration reads in the answers to its prompts."""

from __future__ import annotations

from pearl.models.chat.base import Reply
from pearl.models.prompts import Prompt
from pearl.records import Document, ScoredDocument, Usage
from pearl.text.templates import load_template
from retriever.base import Calibration
from service.calibrating.study import PastText, Study

TOLD = "At most five lines. No emoji."


def test_sentences_that_repeat_the_instructions_are_cut_as_in_a_draft_of_the_service() -> None:
    past = PastText("Yes.", "Ask Bo.", (ScoredDocument(Document("1", "A text."), 1.0),))
    study = Study((past,), load_template("free"), TOLD, Calibration(), 1, False, 64)

    def reply(text: str) -> Reply:
        return Reply(text, "stop", Usage())

    assert study.draft(past, 1, reply("At most five lines.\nYes, Bo.")).text == "Yes, Bo."
    nothing = study.draft(past, 1, reply("At most five lines."))
    assert (nothing.text, nothing.failure) == (None, "empty_answer")
    prompt = Prompt((), (), 0, begun="EDITED DRAFT\n")
    assert study.revision(past, 1, reply("At most five lines.\nYes, Bo."), prompt).text == "Yes, Bo."
    unreadable = study.revision(past, 1, reply("At most five lines."), prompt)
    assert (unreadable.text, unreadable.failure) == (None, "revision_unreadable")
