from __future__ import annotations

import pytest

from eval.asking.reading import Label, Labels, Scale
from eval.asking.reply import EMPTY, NO_VERDICT, NOT_OFFERED, SCORE_OUT_OF_RANGE, SEVERAL_VERDICTS
from eval.asking.verdict import Invalid, Score

YES, NO = Label("Yes", 1, "yes"), Label("No", 0, "no")
LAST = Labels((YES, NO, Label("", Invalid(NOT_OFFERED), "maybe")))
FIRST = Labels((YES, NO), leads=True, once=True, announces="i say")
POINTS = Scale(0, 10, once=True, says="Score")


@pytest.mark.parametrize(
    ("reader", "reply", "answer"),
    [
        (LAST, "It is so.\nYes", 1),
        (LAST, "It is so.\nMy final answer is **No**.", 0),
        (LAST, "The verdict is Yes, for it is so.", 1),
        (LAST, "The answer is plain to see.\nYes", 1),
        (LAST, "Yes\nIt is so.", Invalid(NO_VERDICT)),
        (LAST, "It is so.\nMaybe", Invalid(NOT_OFFERED)),
        (LAST, "No\nIt is so.\nYes", Invalid(SEVERAL_VERDICTS)),
        (LAST, "The verdict is Yes, but it may not be so.", Invalid(SEVERAL_VERDICTS)),
        (LAST, '{"answer": "yes", "why": "no"}', 1),
        (LAST, '{"answer": "yes", "verdict": "no"}', Invalid(SEVERAL_VERDICTS)),
        (LAST, '{"answer": true}', 1),
        (LAST, "**Yes**\nIt is so.\n**No**\nIt is otherwise.\nNo", 0),  # headings
        (FIRST, "Yes\nIt is so.", 1),
        (FIRST, "Yes\nIt is so, but hardly.", Invalid(SEVERAL_VERDICTS)),
        (FIRST, "Yes\nIt is so.\nYes", Invalid(SEVERAL_VERDICTS)),
        (FIRST, "I say: no", 0),
        (POINTS, "It is so.\nScore: 7", Score(7)),
        (POINTS, "Score: 7/10", Score(7)),
        (POINTS, "7 out of 10", Score(7)),
        (POINTS, "Score: 0\nThere is nothing of it.", Score(0)),
        (POINTS, '{"score": 9.5}', Score(9.5)),
        (POINTS, "<think>Is it 6? Score: 6</think>Score: 7", Score(7)),
        (POINTS, "<think>Score: 6", Invalid(EMPTY)),
        (POINTS, "Score: 3/5", Invalid(SCORE_OUT_OF_RANGE)),
        (POINTS, "Score: 11", Invalid(SCORE_OUT_OF_RANGE)),
        (POINTS, "Score: 7\nOr rather 6.", Invalid(SEVERAL_VERDICTS)),
        (POINTS, "Score: 7\nScore: 7", Invalid(SEVERAL_VERDICTS)),
        (POINTS, '{"score": 7}\nOr 6.', Invalid(SEVERAL_VERDICTS)),
        (POINTS, "Style\nScore: 7\nTone", Invalid(NO_VERDICT)),
    ],
)
def test_an_answer_is_the_last_line_or_announced(reader, reply, answer):
    assert reader.read(reply) == answer


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Labels(()), "must spell the answers"),
        (lambda: Labels((Label("Perhaps", 1, "yes"),)), "reads Invalid.* where a reply says 'Perhaps', not 1"),
        (lambda: Labels((YES, Label("Yes, no", 0, "yes, no"))), "where a reply says 'Yes, no', not 0"),
        (lambda: Scale(0, 10_000_000_000), "reads Invalid.* where a reply says"),  # more digits than a number may have
    ],
)
def test_a_reader_that_cannot_read_its_own_answers_is_refused_when_declared(declare, message):
    with pytest.raises(ValueError, match=message):
        declare()
