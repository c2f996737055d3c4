"""An editor asked step by step: a sentence by its number, with a category, then its rewrite."""

from __future__ import annotations

import asyncio

import pytest

from pearl.asking.patience import Failed
from pearl.chat.base import Reply, complete
from pearl.editing.candidates import refused_edits
from pearl.editing.steps import candidate_in_steps, sentences
from pearl.records import Usage

DRAFT = "Thanks. The sea was grey\nand very loud. At the end of the day we went home! Yes."


def edited(fake, *replies, draft=DRAFT, instructions=""):
    fake.replies.extend(replies)
    return asyncio.run(candidate_in_steps(lambda *asked: complete(fake, *asked), draft, instructions, 3))


def test_the_sentence_that_the_model_names_is_rewritten(fake):
    found = edited(fake, "2: Cliche", " We went home at the end! ")
    assert found.text == "Thanks. The sea was grey\nand very loud. We went home at the end! Yes."
    (placed,) = found.execution.placed
    assert (placed.span, placed.category) == ("At the end of the day we went home!", "Cliche")


def test_the_first_step_is_held_to_numbers_and_categories_and_the_second_shows_one_sentence(fake):
    edited(fake, "1: Purple Prose", "The sea was grey.", instructions="No dashes.")
    (asked, held), (shown, free) = fake.calls
    assert "1. The sea was grey and very loud.\n2. At the end of the day we went home!" in asked[-1].content
    assert len(held.choices) == 2 * 8
    assert "2: Tense Inconsistency" in held.choices
    assert shown[-1].content == "Purple Prose: The sea was grey and very loud."
    assert "every rewrite:\nNo dashes." in shown[0].content
    assert (held.seed, free.seed, free.choices, free.stop) == (3, 3, (), ("\n",))


@pytest.mark.parametrize(
    ("rewrite", "failure", "refused"),
    [
        ("At the end of the day we went home!", "not_executed", {"unchanged": 1}),
        ("Here is a better way to say it.", "not_executed", {"other_words": 1}),
        ("", "not_executed", {"no_rewrite": 1}),
    ],
)
def test_rewrites_that_are_refused(fake, rewrite, failure, refused):
    found = edited(fake, "2: Cliche", rewrite)
    assert (found.text, found.failure, refused_edits([found])) == (None, failure, refused)


def test_a_rewrite_that_was_cut_off_is_refused():
    answers = iter([Reply("2: Cliche", "stop", Usage()), Reply("We went home at", "length", Usage())])

    async def say(messages, decoding):
        return next(answers)

    found = asyncio.run(candidate_in_steps(say, DRAFT, "", 0))
    assert (found.failure, refused_edits([found])) == ("not_executed", {"no_rewrite": 1})


@pytest.mark.parametrize("answers", [[Failed("llm_timeout")], [Reply("1: Cliche", "stop", Usage()), Failed("late")]])
def test_a_step_without_an_answer_ends_the_candidate(answers):
    left = iter(answers)

    async def say(messages, decoding):
        return next(left)

    assert asyncio.run(candidate_in_steps(say, DRAFT, "", 0)).failure == answers[-1].reason


def test_a_draft_without_a_sentence_has_no_edit_and_nobody_is_asked(fake):
    assert edited(fake, draft="Thanks! Bye.").failure == "no_edit"
    assert fake.calls == []


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        (DRAFT, ["The sea was grey\nand very loud.", "At the end of the day we went home!"]),
        ("It was cold out there. It was cold out there. And then it rained.", ["And then it rained."]),
        ('He said "it is very late." Then we went home, all', ['He said "it is very late."', "Then we went home, all"]),
        (
            "See e.g. the file foo.c in there.\n\n\tmake all of it",
            ["See e.g. the file foo.c in there.", "make all of it"],
        ),
        ("word " * 61, []),
        ("Ключ лежит под моим ковром. Мы уехали домой.", ["Ключ лежит под моим ковром."]),
        ("ջուրը բարձր է այսօր։ Այո։", ["ջուրը բարձր է այսօր։"]),
        ("钥匙在我的地毯下面。“我们回家了！”他说。好。", ["钥匙在我的地毯下面。", "“我们回家了！”他说。"]),
    ],
)
def test_sentences(draft, found):
    assert sentences(draft) == found
