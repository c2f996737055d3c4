from __future__ import annotations

import pytest

from eval.asking.said import reasons


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("It has many soft images.\nAnswer: Yes", "It has many soft images."),
        ("**Answer: No.** It is a dry list.", ".** It is a dry list."),
        ("Answer: 0.75, for it has many images.", ", for it has many images."),
        ("The second one has more rhymes.\n\nTWEET TWO", "The second one has more rhymes."),
        ("Final score: 4/5\nIt has three rhymes.", "It has three rhymes."),
        ('{"reason": "It has many images.", "answer": "Yes"}', "It has many images."),
        ("Somewhat exhibits style", ""),
        ("The answer lies in its images.", "The answer lies in its images."),
    ],
)
def test_reasons_are_what_stands_beside_the_verdict(reply, why):
    assert reasons(reply, ("answer",)) == why
