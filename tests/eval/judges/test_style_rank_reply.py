"""Hostile replies: whatever they hold, no wrong verdict and no wrong score comes out of them."""

from __future__ import annotations

from time import process_time

import pytest

from eval.asking.reply import EMPTY, NO_VERDICT, NOT_OFFERED, SCORE_OUT_OF_RANGE, SEVERAL_VERDICTS
from eval.asking.verdict import Answer, Given, Invalid, Score
from eval.judges import style_rank

A, B = Answer.A, Answer.B
WHY = "The first text tells a story, the second only says that Output (a) and Output (b) differ."

CHOICES = {
    "as asked": ("Output (a)", A),
    "with a line break": ("\nOutput (b)\n", B),
    "a capital": ("OUTPUT (B)", B),
    "without brackets": ("Output a", A),
    "only the brackets": ("(b)", B),
    "only the letter": ("a", A),
    "in double brackets": ("[[Output (b)]]", B),
    "of oneself": ("I would choose Output (a).", A),
    "with the question": ("Which is best, Output (a) or Output (b)? Output (b)", B),
    "below the question": ("## Which is best, Output (a) or Output (b)?\nOutput (b)", B),
    "called an option": ("Option A", A),
    "called a response": ("Response (b)", B),
    "below its reasons": (f"{WHY}\n\nOutput (b)", B),
    "above its reasons": ("Output (a)\n\nIt is a story, told with warmth.", A),
    "above reasons that name it": ("Output (b)\nOutput (b) is the one that rhymes.", B),
    "twice": ("Output (a)\n\nOutput (a)", A),
    "an object": ('{"answer": "Output (b)"}', B),
    "an object with reasons": ('{"reason": "Output (a) is flat.", "answer": "Output (b)"}\nI hope this helps!', B),
    "a box": ("It rhymes.\n\\boxed{\\text{Output (b)}}", B),
}

NO_CHOICE = {
    "nothing": ("", EMPTY),
    "only the question": ("Which is best, Output (a) or Output (b)?", NO_VERDICT),
    "two below each other": ("Output (a)\nOutput (b)", SEVERAL_VERDICTS),
    "two letters": ("ab", NO_VERDICT),
    "denied": ("Not Output (a)", NO_VERDICT),
    "a Greek letter that looks the same": ("Output (\u0391)", NO_VERDICT),
    "as a word": ("A good question!", NO_VERDICT),
    "in prose": ("Output (a) is better at dialogue.", NO_VERDICT),
    "not offered": ("Output (c)", NOT_OFFERED),
    "neither": ("Neither.", NOT_OFFERED),
    "headings with their texts": ("Output (a):\nChatty.\nOutput (b):\nTerse.", NO_VERDICT),
    "headings without colons": ("Output (a)\nChatty.\nOutput (b)\nTerse.", SEVERAL_VERDICTS),
    "in the middle": ("Let me see.\nOutput (a)\nThat was not easy.", NO_VERDICT),
    "a label, then a quotation over two lines": ('It ends so: "hello\nOutput (a)"', NO_VERDICT),
    "a changed mind in prose": ("Output (a)\n\nOn reflection Output (b) has more rhymes.", SEVERAL_VERDICTS),
    "a changed mind without a name": ("Output (a)\nNo, wait: the other one.", SEVERAL_VERDICTS),
    "a sentence that goes on": ("Output (a)\nis worse.", SEVERAL_VERDICTS),
    "the other by its letter": ("Output (a)\n\nB has more rhymes.", SEVERAL_VERDICTS),
    "a doubt": ("Output (b)\n\nBoth have their merits.", SEVERAL_VERDICTS),
    "taken back": ("Output (a) \nis what many would say, but they are wrong.", SEVERAL_VERDICTS),
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
    "none": (f"{SAID}\nScore: 0", 0),
    "all": (f"{SAID}\nScore: 5", 5),
    "all of it bold": (f"{SAID}\n**Score: 4**", 4),
    "with the scale": (f"{SAID}\nScore: 4/5", 4),
    "with the scale in words": (f"{SAID}\nTotal score: 2 out of 5", 2),
    "in points": (f"{SAID}\nFinal score: 4 points.", 4),
    "in points of the scale": (f"{SAID}\nScore: 4 points out of 5", 4),
    "total points": (f"{SAID}\nTotal points: 1", 1),
    "a decimal": (f"{SAID}\nScore: 3.5", 3.5),
    "a decimal of nothing": (f"{SAID}\nScore: 4.0", 4),
    "above its reasons": ("Score: 3\n\nMost styles show, though not all of them.", 3),
    "alone": ("4", 4),
    "a number below": (f"{SAID}\n4", 4),
    "alone with the scale": ("4/5", 4),
    "full width digits": (f"{SAID}\nScore: \uff14", 4),
    "an object": ('{"justification": "It rhymes; Score: 2.", "score": 4}', 4),
    "an object with a string": ('{"score": "4/5"}', 4),
    "a box": (f"{SAID}\n\n\\boxed{{4}}", 4),
    "an object behind braces": ('It {x} rhymes.\n{"score": 4}', 4),
}

NO_SCORE = {
    "nothing": ("", EMPTY),
    "too much": (f"{SAID}\nScore: 6", SCORE_OUT_OF_RANGE),
    "far too much": (f"{SAID}\nScore: 100", SCORE_OUT_OF_RANGE),
    "less than nothing": (f"{SAID}\nScore: -1", SCORE_OUT_OF_RANGE),
    "of another scale": (f"{SAID}\nScore: 4/10", SCORE_OUT_OF_RANGE),
    "of another scale in words": (f"{SAID}\nScore: 4 out of 4", SCORE_OUT_OF_RANGE),
    "just above": (f"{SAID}\nScore: 5.01", SCORE_OUT_OF_RANGE),
    "one or the other": (f"{SAID}\nScore: 3 or 4", NO_VERDICT),
    "with a doubt": (f"{SAID}\nScore: 4?", NO_VERDICT),
    "about": (f"{SAID}\nScore: ~4", NO_VERDICT),
    "in the first place a nought": (f"{SAID}\nScore: 04", NO_VERDICT),
    "with a footnote": (f"{SAID}\nScore: 3\u00b2", SCORE_OUT_OF_RANGE),  # 32
    "not a number": (f"{SAID}\nScore: NaN", NO_VERDICT),
    "without end": (f"{SAID}\nScore: inf", NO_VERDICT),
    "Arabic digits": (f"{SAID}\nScore: \u0664", NO_VERDICT),
    "a word": (f"{SAID}\nScore: four", NO_VERDICT),
    "a sum": (f"{SAID}\nScore: 1 + 1 + 1", NO_VERDICT),
    "the form itself": (f"{SAID}\nScore: <total points>", NO_VERDICT),
    "with a stroke": (f"{SAID}\nScore: 4\u0336", NO_VERDICT),
    "denied": (f"{SAID}\nScore: not 4", NO_VERDICT),
    "a changed mind with a number": ("Score: 4\nThat is, I would say 2.", SEVERAL_VERDICTS),
    "a score for each criterion": ("Relevance\nScore: 1\nDetail\nScore: 1", SEVERAL_VERDICTS),
    "a running total": ("Score: 1\nThen more.\nScore: 2", SEVERAL_VERDICTS),
    "in the middle": ("Let me see.\nScore: 1\nThat is for relevance.", NO_VERDICT),
    "a choice": ("Output (a)", NO_VERDICT),
    "an object beyond the scale": ('{"score": 7}', SCORE_OUT_OF_RANGE),
    "an object of no number": ('{"score": NaN}', NOT_OFFERED),
    "an object with true": ('{"score": true}', NOT_OFFERED),
    "an object with two": ('{"score": 4, "total": 3}', SEVERAL_VERDICTS),
    "an object and a line": ('{"score": 4}\nScore: 3', SEVERAL_VERDICTS),
    "an object without one": ('{"relevance": 1}', NO_VERDICT),
    "a tag twice": ("<score>4</score>\n<score>4</score>", SEVERAL_VERDICTS),
    "100 kB of digits": ("Score: " + "1" * 100_000, NO_VERDICT),
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
    "an object": ('It rhymes.\n{"decision": "TWEET TWO"}', B),
    "by a letter": ("It rhymes.\nOPTION A", NO_VERDICT),
    "a third": ("It rhymes.\nTWEET THREE", NO_VERDICT),
    "neither": ("It rhymes.\nNEITHER", NO_VERDICT),
    "nothing": (" ", EMPTY),
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
