from __future__ import annotations

import pytest

from pearl.text.answers.reasoning import without_reasoning

MANY = 30_000


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("<think>" * MANY, ""),
        ("</think>" * MANY + "Dear Bo.", "Dear Bo."),
        ("<think>\n" * MANY + "</think>\n" * MANY + "Dear Bo.", "\nDear Bo."),
    ],
)
def test_marks_without_end_take_linear_time(answer, text):
    assert without_reasoning(answer) == text
