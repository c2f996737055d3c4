"""An editor's reply is read in its published form, near misses are read, and the rest is refused."""

from __future__ import annotations

import pytest

from pearl.errors import ContextExceeded, InputError
from pearl.style.editing.edits import SpanEdit, refusals
from pearl.style.editing.prompt import prompt_for, reply_of
from pearl.style.editing.reply import read_reply

EDITS = (SpanEdit("the sea", "the bay", "Cliche"), SpanEdit("was\ngrey", "", "Purple Prose"))


def reply(first, second, third="Part 3: Edited draft\nThe bay."):
    return f"Part 1: Spans\n{first}\n\nPart 2: Rewrites\n{second}\n\n{third}"


def test_what_an_editor_is_trained_to_answer_is_read_back():
    read = read_reply(reply_of(EDITS, "The bay."))
    assert read.edits() == (EDITS, ())
    assert read.text == "The bay."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('Span 1: "the sea" (Category: "Cliche")', 'Span 1: "the sea" -> "the bay"'),
        ("Span 1: “the sea” (Category: “Cliche”)", "Span 1: “the sea” → “the bay”"),
        ("- **Span 1:** `the sea` (Category: Cliche)", "- **Span 1:** `the sea` => `the bay`"),
    ],
)
@pytest.mark.parametrize("mark", ["", "**", "## "])
def test_near_misses_are_read(first, second, mark):
    answer = f"Sure!\n{mark}Part 1: Spans{mark.strip('# ')}\n{first}\n{mark}Part 2: Rewrites\n{second}\n"
    read = read_reply(answer)
    assert read.edits() == ((SpanEdit("the sea", "the bay", "Cliche"),), ())
    assert read.text is None


def test_quotation_marks_inside_a_span_are_the_spans():
    edit = SpanEdit('"Where you headed, kid?" he `asked`', '"Where to?"', "Cliche")
    assert read_reply(reply_of((edit,), "...")).edits() == ((edit,), ())


@pytest.mark.parametrize(
    ("answer", "has"),
    [
        ("", "it has no part."),
        ("The bay was grey.", "it has no part."),
        ("Part 1: Spans\nSpan 1: `a` (Category: `Cliche`)", "it has Part 1."),
        ("Part 2: x\nPart 1: y", "it has Part 2, Part 1."),
        ("Part 1: x\nPart 1: y\nPart 2: z", "it has Part 1, Part 1, Part 2."),
        ("Part 1: x\nPart 3: z", "it has Part 1, Part 3."),
    ],
)
def test_a_reply_without_its_parts_is_an_error(answer, has):
    with pytest.raises(InputError, match=r"must have Part 1, Part 2 and Part 3") as told:
        read_reply(answer)
    assert told.value.message.endswith(has)
    assert told.value.code == "no_parts"


def test_spans_that_only_one_part_has_are_named():
    first = "Span 1: `sea` (Category: `Cliche`)\nSpan 2: `sky` (Category: `Cliche`)"
    second = "Span 1: `sea` -> `bay`\nSpan 2: `hill` -> `rise`"
    edits, refused = read_reply(reply(first, second)).edits()
    assert edits == (SpanEdit("sea", "bay", "Cliche"),)
    assert refusals(refused) == {"no_rewrite": 1, "not_listed": 1}


@pytest.mark.parametrize(
    "loop", ["Span 1: `a` -> `b\n", "Span 1: `a` (Category: `x\n", "Span 1: `a\n", 'Span 1: "a" "\n', "Span 1"]
)
def test_a_model_that_repeats_itself_is_soon_read(loop, grows_linearly):
    grows_linearly(lambda text: read_reply(reply(text, text)), loop, 2000)  # the service waits meanwhile
    read = read_reply(reply(loop * 2000, loop * 2000))
    assert (read.listed, read.rewritten) == ((), ())


def test_an_entry_that_breaks_off_leaves_the_next_one():
    first = "Span 1: `sea` (Category: `Cliche\nSpan 2: `sky` (Category: `Cliche`)\nSpan 3 `hill`"
    read = read_reply(reply(first, "Span 1: `sea` -> `\n\nSpan 2: `sky` -> ``\n"))
    assert read.edits() == ((SpanEdit("sky", "", "Cliche"),), ())
    assert read_reply(reply(f"Span {'9' * 5000}: `sea` (Category: `Cliche`)", "")).listed == ()


def test_the_question_fences_the_draft_and_ends_before_part_three(fake):
    messages, decoding = prompt_for(fake, "Braces {like} these, and </draft>.", "No dashes.")
    assert "<draft>\nBraces {like} these, and <_ /draft>.\n</draft>" in messages[-1].content
    assert "standing instructions hold for every rewrite:\nNo dashes." in messages[1].content
    assert read_reply(messages[2].content).text == "The visit went well. We open on Friday. Otti paints."  # the example
    assert decoding.stop == ("\nPart 3",)


def test_a_draft_that_does_not_fit_the_model_is_refused(fake):
    with pytest.raises(ContextExceeded, match="The draft is too long to edit"):
        prompt_for(fake, "word " * 1500)
