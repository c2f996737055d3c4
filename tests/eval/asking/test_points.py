from __future__ import annotations

import pytest

from eval.asking.grammar import points_up_to
from eval.asking.reply import EMPTY, SCORE_OUT_OF_RANGE, SEVERAL_VERDICTS
from eval.asking.verdict import Invalid, Score

POINTS = points_up_to(10)


@pytest.mark.parametrize(
    ("reply", "points"),
    [
        ("It is so.\nScore: 7", Score(7)),
        ("Score: 7/10", Score(7)),
        ("7 out of 10", Score(7)),
        ("Score: 0\nThere is nothing of it.", Score(0)),
        ('{"score": 9.5}', Score(9.5)),
        ("<think>Is it 6? Score: 6</think>Score: 7", Score(7)),
        ("<think>Score: 6", Invalid(EMPTY)),
        ("Score: 3/5", Invalid(SCORE_OUT_OF_RANGE)),
        ("Score: 11", Invalid(SCORE_OUT_OF_RANGE)),
        ("Score: 7\nOr rather 6.", Invalid(SEVERAL_VERDICTS)),
        ("Score: 7\nScore: 7", Invalid(SEVERAL_VERDICTS)),
        ('{"score": 7}\nOr 6.', Invalid(SEVERAL_VERDICTS)),
    ],
)
def test_points_of_the_scale_that_was_offered(reply, points):
    assert POINTS.read(reply) == points
