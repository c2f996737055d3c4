"""Edits are executed where their spans occur once, and refused everywhere else."""

from __future__ import annotations

import pytest

from pearl.records import PlacedEdit
from pearl.style.editing.edits import REASONS, SpanEdit, execute, refusals, replaced

DRAFT = "The sea was grey. The sky was grey, and the gulls were loud."


def test_spans_that_occur_once_are_replaced_in_the_order_of_the_draft():
    done = execute(DRAFT, [SpanEdit("loud", "hoarse", "Cliche"), SpanEdit("The sea", "The bay")])
    assert done.text == "The bay was grey. The sky was grey, and the gulls were hoarse."
    assert done.placed == (PlacedEdit(0, "The sea", "The bay"), PlacedEdit(55, "loud", "hoarse", "Cliche"))
    assert replaced(DRAFT, done.placed) == done.text


@pytest.mark.parametrize(
    ("edits", "reasons"),
    [
        ([SpanEdit("ocean", "bay")], {"missing": 1}),
        ([SpanEdit("grey", "blue")], {"several_times": 1}),
        ([SpanEdit("", "blue")], {"empty_span": 1}),
        ([SpanEdit("loud", "loud")], {"unchanged": 1}),
        ([SpanEdit("sky was grey", "sky was not"), SpanEdit("grey, and", "grey but")], {"overlaps": 2}),
        ([SpanEdit("sky was", "sky is"), SpanEdit("sky was", "sky lay")], {"overlaps": 2}),
        (
            [SpanEdit("sky was grey, and the gulls", "a"), SpanEdit("sky", "b"), SpanEdit("gulls were", "c")],
            {"overlaps": 3},
        ),
    ],
)
def test_what_cannot_be_executed_is_named_and_changes_nothing(edits, reasons):
    done = execute(DRAFT, edits)
    assert (done.text, done.placed) == (DRAFT, ())
    assert refusals(done.refused) == reasons
    assert {edit.reason for edit in done.refused} <= set(REASONS)


def test_the_same_edit_again_is_executed_once_and_named():
    done = execute(DRAFT, [SpanEdit("sky", "hill")] * 2)
    assert (len(done.placed), refusals(done.refused)) == (1, {"repeated": 1})
    assert refusals(execute("aaa b", [SpanEdit("aa", "c")]).refused) == {"several_times": 1}
    assert execute("one two", [SpanEdit("one ", "1 "), SpanEdit("two", "2")]).text == "1 2"
    assert execute("cafe\u0301 au lait", [SpanEdit("cafe\u0301", "tea")]).text == "tea au lait"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("cafe\u0301 au lait", "cafe"),  # the accent belongs to the e
        ("cafe\u0301 au lait", "\u0301 au"),
        ("a \U0001f469\u200d\U0001f469\u200d\U0001f466 b", "\U0001f466"),  # a family is one character
        ("\U0001f1e9\U0001f1ea here", "\U0001f1ea here"),  # a flag, too
        ("ok \U0001f44d\U0001f3fd", "ok \U0001f44d"),  # and a thumb with its colour
        ("\u1112\u1161\u11ab gul", "\u1112\u1161"),  # a syllable of Hangul in its letters
        ("one\r\ntwo", "one\r"),
    ],
)
def test_a_span_inside_a_character_is_refused(text, span):
    assert refusals(execute(text, [SpanEdit(span, "x")]).refused) == {"inside_character": 1}


@pytest.mark.parametrize(
    ("draft", "edit", "verbatim", "tidy"),
    [
        ("a rusty old van", SpanEdit("rusty old", "rusty "), "a rusty  van", "a rusty van"),
        ("He nodded, slowly.", SpanEdit("nodded, slowly", "nodded. "), "He nodded. .", "He nodded."),
        ("He left, smoking.", SpanEdit(", smoking", " in smoke"), "He left in smoke.", "He left in smoke."),
        ("a van, it coughed", SpanEdit(", it", "in"), "a vanin coughed", "a van in coughed"),
        ("from her yard when she", SpanEdit("yard when ", "garden,"), "from her garden,she", "from her garden, she"),
        ("It was very cold.", SpanEdit("very", ""), "It was  cold.", "It was cold."),
        ("It was cold indeed.", SpanEdit("indeed", ""), "It was cold .", "It was cold."),
        ("one very two", SpanEdit(" very ", ""), "onetwo", "one two"),
        ("It stopped. Then", SpanEdit(" Then", ". Then"), "It stopped.. Then", "It stopped. Then"),
        ("So it goes.", SpanEdit("goes", "goes..."), "So it goes....", "So it goes...."),
        ("a well-known man", SpanEdit("-", " "), "a well known man", "a well known man"),
        ("It ended. Very well.", SpanEdit(" Very well.", ""), "It ended.", "It ended."),
        ("你好世界。", SpanEdit("你好世界", "你好，世界。"), "你好，世界。。", "你好，世界。"),
        ("كيف حالك؟", SpanEdit("حالك", "الحال؟"), "كيف الحال؟؟", "كيف الحال؟"),
        ("今天很好，我们去。", SpanEdit("，我们", "我们"), "今天很好我们去。", "今天很好我们去。"),
        ("line\n  indented end", SpanEdit("end", " tail"), "line\n  indented  tail", "line\n  indented tail"),
    ],
)
def test_seams(draft, edit, verbatim, tidy):
    assert execute(draft, [edit], tidy=False).text == verbatim
    done = execute(draft, [edit])
    assert done.text == tidy
    assert replaced(draft, done.placed) == tidy
    assert all(draft[placed.start : placed.end] == placed.span for placed in done.placed)


def test_a_seam_does_not_reach_into_the_edit_before_it():
    done = execute("one two three.", [SpanEdit("one ", "1 "), SpanEdit("two", ""), SpanEdit(" three", "")])
    assert replaced("one two three.", done.placed) == done.text
