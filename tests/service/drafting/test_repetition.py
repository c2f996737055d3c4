from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from pearl.models.prompts import PromptInputs
from pearl.records import Document
from pearl.text.templates import load_template
from service.drafting.repetition import RepetitionFilter, Repetitions
from tests.pieces import split

TOLD = (
    "At most five lines. No emoji.\nMake it sound as if it was written between two repairs.\n"
    "Mention that the shed is closed on Mondays. Close with 'Yours, Otti'. Don't use the word 'unfortunately'."
)


def inputs(instructions: str = TOLD, request: str = "Ask Bo.", *texts: str) -> PromptInputs:
    documents = tuple(Document(str(number), text, 1.0) for number, text in enumerate(texts))
    return PromptInputs(load_template("free"), request, documents, instructions)


@pytest.mark.parametrize(
    ("draft", "left", "cut"),
    [
        ("Dear Bo,\n\nyes.\n\nOtti", "Dear Bo,\n\nyes.\n\nOtti", 0),
        ("Dear Bo,\n\nAt most five lines.\n\nyes.", "Dear Bo,\n\nyes.", 1),
        ("Dear Bo, at most five lines, please!\nYes.", "Yes.", 1),
        ("Yes. Don't use the word 'unfortunately'. Saturday.", "Yes. Saturday.", 1),
        ("Two asks:\n1) Don't use the word 'unfortunately', please.\n2) A bell.", "Two asks:\n2) A bell.", 1),
        ("Two asks:\n1. Don’t use the word “unfortunately”.\n2. A bell.", "Two asks:\n2. A bell.", 1),
        ("Fine. The post was written between two repairs, too.\nOtti", "Fine. \nOtti", 1),
        ("The author's standing instructions, which outrank the style: be brief.\nYes.", "be brief.\nYes.", 1),
        ("Mention that the shed is closed.\nYes.", "Yes.", 1),
        ("At most five lines.", "", 1),
        # followed, not repeated
        ("The shed is closed on Mondays.\n\nYours, Otti", "The shed is closed on Mondays.\n\nYours, Otti", 0),
        ("I have five lines, at most.", "I have five lines, at most.", 0),
        ("No emoji, he wrote.", "No emoji, he wrote.", 0),
    ],
)  # fmt: skip
def test_sentences_that_repeat_an_instruction_are_cut(draft: str, left: str, cut: int) -> None:
    chance = random.Random(draft)
    for pieces in ([draft], list(draft), *(split(draft, chance) for _ in range(50))):
        found = RepetitionFilter(Repetitions(inputs()))
        assert ("".join(map(found.feed, pieces)) + found.finish(), found.cut) == (left, cut)


@pytest.mark.parametrize(
    ("told", "draft"),
    [
        ("कृपया हिन्दी में लिखें और छोटा लिखें।", "मैं हिन्दी में बहुत कुछ और छोटा लिखता हूँ। कल मिलते हैं।"),
        ("Erwähne den Termin am Donnerstag um neun.", "Der Termin am Donnerstag um neun bleibt. Bis dann."),
        ("请用中文写，结尾写上谢谢大家。", "明天见。谢谢大家。"),
    ],
)
def test_following_an_instruction_in_another_language_repeats_nothing(told: str, draft: str) -> None:
    found = RepetitionFilter(Repetitions(inputs(told)))
    assert "".join(map(found.feed, draft)) + found.finish() == draft
    found = RepetitionFilter(Repetitions(inputs("Erwähne den Termin am Donnerstag um neun.")))
    assert found.feed("Ja. Erwähne den Termin am Donnerstag. Gut.") + found.finish() == "Ja. Gut."


def test_what_the_request_or_a_document_says_may_be_said() -> None:
    draft = "It was written between two repairs."
    for given in (inputs(TOLD, "say that it was written between two repairs"), inputs(TOLD, "Ask", f"So: {draft}")):
        found = RepetitionFilter(Repetitions(given))
        assert found.feed(draft) + found.finish() == draft


def test_without_instructions_the_text_streams_as_it_comes() -> None:
    found = RepetitionFilter(Repetitions(inputs("")))
    assert found.feed("Dear B") == "Dear B"
    assert found.feed("o") + found.finish() == "o"


def test_a_sentence_waits_for_its_end() -> None:
    found = RepetitionFilter(Repetitions(inputs()))
    assert found.feed("Dear Bo.") == ""
    assert found.feed(" Yes, sat") == "Dear Bo. "
    assert found.feed("urday.") + found.finish() == "Yes, saturday."


@pytest.mark.parametrize("piece", [".", "1. ", "word", "! "])
def test_marks_that_end_no_sentence_take_linear_time(piece: str, grows_linearly: Callable[..., None]) -> None:
    repetitions = Repetitions(inputs())

    def read(text: str) -> None:
        repetition = RepetitionFilter(repetitions)
        for place in range(0, len(text), 3):
            repetition.feed(text[place : place + 3])
        repetition.finish()

    grows_linearly(read, piece, 30_000)
