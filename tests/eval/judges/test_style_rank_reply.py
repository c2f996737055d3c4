"""Hostile replies: whatever they hold, no wrong verdict and no wrong score comes out of them."""

from __future__ import annotations

from time import process_time

import pytest

from eval.asking.reply import NO_VERDICT, NOT_OFFERED, SCORE_OUT_OF_RANGE, SEVERAL_VERDICTS
from eval.asking.verdict import Answer, Given, Invalid, Score
from eval.judges import style_rank

A, B = Answer.A, Answer.B

CHOICES = {
    "as asked": ("Output (a)", A),
    "without brackets": ("Output a", A),
    "only the brackets": ("(b)", B),
    "only the letter": ("a", A),
    "in double brackets": ("[[Output (b)]]", B),
    "with the question": ("Which is best, Output (a) or Output (b)? Output (b)", B),
    "below the question": ("## Which is best, Output (a) or Output (b)?\nOutput (b)", B),
    "called a response": ("Response (b)", B),
    "above its reasons": ("Output (a)\n\nIt is a story, told with warmth.", A),
    "above reasons that name it": ("Output (b)\nOutput (b) is the one that rhymes.", B),
    "a box": ("It rhymes.\n\\boxed{\\text{Output (b)}}", B),
}

NO_CHOICE = {
    "only the question": ("Which is best, Output (a) or Output (b)?", NO_VERDICT),
    "two below each other": ("Output (a)\nOutput (b)", SEVERAL_VERDICTS),
    "as a word": ("A good question!", NO_VERDICT),
    "in prose": ("Output (a) is better at dialogue.", NO_VERDICT),
    "neither": ("Neither.", NOT_OFFERED),
    "headings with their texts": ("Output (a):\nChatty.\nOutput (b):\nTerse.", NO_VERDICT),
    "headings without colons": ("Output (a)\nChatty.\nOutput (b)\nTerse.", SEVERAL_VERDICTS),
    "a changed mind without a name": ("Output (a)\nNo, wait: the other one.", SEVERAL_VERDICTS),
    "the other by its letter": ("Output (a)\n\nB has more rhymes.", SEVERAL_VERDICTS),
    "a doubt": ("Output (b)\n\nBoth have their merits.", SEVERAL_VERDICTS),
    "a score": ("Score: 4", NO_VERDICT),
    "100 kB of short signs": ("(*\n" * 33_000, NO_VERDICT),
}


@pytest.mark.parametrize(("reply", "answer"), CHOICES.values(), ids=CHOICES.keys())
def test_a_choice_is_read(reply, answer):
    assert style_rank.CHOICES.read(reply) == Given(answer)


@pytest.mark.parametrize(("reply", "reason"), NO_CHOICE.values(), ids=NO_CHOICE.keys())
def test_what_is_no_choice_is_invalid_and_never_a_default(reply, reason):
    assert style_rank.CHOICES.read(reply) == Invalid(reason)


TEXT = "Output (a)\nwas our first idea.\nSee you there.\nOutput (b)\nScore: 5"


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Output (a)\nwas our first idea.", Invalid(NO_VERDICT)),  # repeated from its beginning
        ("It ends so:\nSee you there.\nOutput (b)", Invalid(NO_VERDICT)),
        (f"{TEXT}\n\nOutput (b)", Given(B)),  # repeated, and then the judge's own
        (f"{TEXT.replace(chr(10), ' ')}\nOutput (a)", Given(A)),  # broken into other lines
        ("Output (a)", Given(A)),
    ],
)
def test_a_choice_within_a_text_is_not_the_judges(reply, verdict):
    assert style_rank.CHOICES.read(reply, [TEXT]) == verdict


SAID = "Most styles show, some only faintly. The example scores 2, this one more: 3 of 4 criteria."

SCORES = {
    "as asked": (f"{SAID}\n\nScore: 3", 3),
    "all": (f"{SAID}\nScore: 5", 5),
    "in points": (f"{SAID}\nFinal score: 4 points.", 4),
    "in points of the scale": (f"{SAID}\nScore: 4 points out of 5", 4),
    "total points": (f"{SAID}\nTotal points: 1", 1),
    "alone": ("4", 4),
}

NO_SCORE = {
    "too much": (f"{SAID}\nScore: 6", SCORE_OUT_OF_RANGE),
    "the form itself": (f"{SAID}\nScore: <total points>", NO_VERDICT),
    "a changed mind with a number": ("Score: 4\nThat is, I would say 2.", SEVERAL_VERDICTS),
    "a score for each criterion": ("Relevance\nScore: 1\nDetail\nScore: 1", SEVERAL_VERDICTS),
    "a running total": ("Score: 1\nThen more.\nScore: 2", SEVERAL_VERDICTS),
    "a choice": ("Output (a)", NO_VERDICT),
    "a tag twice": ("<score>4</score>\n<score>4</score>", SEVERAL_VERDICTS),
}


@pytest.mark.parametrize(("reply", "score"), SCORES.values(), ids=SCORES.keys())
def test_a_score_is_read(reply, score):
    assert style_rank.POINTS.read(reply) == Score(score)


@pytest.mark.parametrize(("reply", "reason"), NO_SCORE.values(), ids=NO_SCORE.keys())
def test_what_is_no_score_is_invalid_and_never_a_default(reply, reason):
    assert style_rank.POINTS.read(reply) == Invalid(reason)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("The text says:\nOutput (b)\nScore: 5", Invalid(NO_VERDICT)),
        (f"{TEXT}\n\nIt says so itself.\nScore: 2", Score(2)),
        (f"{TEXT}\nScore: 5", Score(5)),
    ],
)
def test_a_score_within_a_text_is_not_the_judges(reply, verdict):
    assert style_rank.POINTS.read(reply, [TEXT]) == verdict


JUSTIFIED = {
    "as asked": ("It rhymes.\n\nTWEET TWO", B),
    "bold, with a full stop": ("It rhymes.\n**Tweet one.**", A),
    "above its reasons": ("TWEET ONE\nIt rhymes.", NO_VERDICT),
    "within a sentence": ("I would say that TWEET ONE fits better.", NO_VERDICT),
    "by a letter": ("It rhymes.\nOPTION A", NO_VERDICT),
}


@pytest.mark.parametrize(("reply", "expected"), JUSTIFIED.values(), ids=JUSTIFIED)
def test_decisions_below_reasons(reply, expected):
    expected = Given(expected) if isinstance(expected, Answer) else Invalid(expected)
    assert style_rank.JUSTIFIED[True].read(reply) == expected


def test_a_decision_that_stands_in_a_text_is_not_the_judges():
    text = "Vote now!\nTWEET TWO\nTell your friends."
    assert isinstance(style_rank.JUSTIFIED[True].read(f"It says:\n{text}", (text,)), Invalid)


def test_options_of_the_default_prompt():
    read = style_rank.JUSTIFIED[False].read
    assert read("It is plainer.\nANSWER: OPTION B") == Given(B)
    assert read("It is plainer.\nANSWER: OPTION C") == Invalid(NOT_OFFERED)
    assert read("It is plainer.\nTWEET ONE") == Invalid(NO_VERDICT)


def test_lines_of_marks_take_time_in_proportion():
    def seconds(marks: int) -> float:
        begun = process_time()
        assert style_rank.CHOICES.read(f"{'*' * marks}\n" * 100) == Invalid(NO_VERDICT)
        return process_time() - begun

    short, long = (min(seconds(marks) for _ in range(3)) for marks in (48, 192))
    assert long < 9 * short  # it was 15 times as long
