from __future__ import annotations

import re

import pytest

from eval.asking.grammar import Grammar, line_of
from eval.asking.reply import NO_VERDICT, NOT_OFFERED, SEVERAL_VERDICTS
from eval.asking.verdict import Invalid

WORDS = {"yes": 1, "no": 0}


def grammar(label=r"(?P<word>yes|no|maybe)", spelled=None, **more):
    def verdict(match: re.Match[str]) -> int | Invalid:
        return WORDS.get(match["word"].lower(), Invalid(NOT_OFFERED))

    return Grammar(line_of(label), verdict, {"Yes": 1, "No": 0} if spelled is None else spelled, **more)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("It is so.\nYes", 1),
        ("It is so.\nMy final answer is **No**.", 0),
        ("Yes\nIt is so.", Invalid(NO_VERDICT)),
        ("It is so.\nMaybe", Invalid(NOT_OFFERED)),
        ("No\nIt is so.\nYes", Invalid(SEVERAL_VERDICTS)),
        ('{"answer": "yes"}', Invalid(NO_VERDICT)),  # no fields are declared
    ],
)
def test_the_last_line_is_read(reply, verdict):
    assert grammar().read(reply) == verdict


def test_a_verdict_in_front_may_be_taken_back():
    leading = grammar(leads=True, takes_back=lambda verdict, below: any("but" in line for line in below))
    assert leading.read("Yes\nIt is so.") == 1
    assert leading.read("Yes\nIt is so, but not quite.") == Invalid(SEVERAL_VERDICTS)


def test_fields_of_an_object():
    declared = grammar(fields=("answer", "verdict"))
    assert declared.read('{"answer": "yes", "why": "no"}') == 1
    assert declared.read('{"answer": "yes", "verdict": "no"}') == Invalid(SEVERAL_VERDICTS)


def test_a_verdict_that_may_be_said_once():
    declared = grammar(once=True, fields=("answer", "verdict"))
    assert declared.read("It is so.\nYes") == 1
    assert declared.read("Yes\nIt is so.\nYes") == Invalid(SEVERAL_VERDICTS)
    assert declared.read('{"answer": "yes", "verdict": "yes"}') == Invalid(SEVERAL_VERDICTS)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("+yes", 1),
        ("It is so.\n+yes", Invalid(NO_VERDICT)),
        ('{"answer": "+yes"}', 1),
        ('{"answer": "yes"}', Invalid(NO_VERDICT)),
        ('{"answer": 1}', 1),
        ('{"answer": 2.5}', Invalid(NOT_OFFERED)),
        ('{"answer": true}', Invalid(NO_VERDICT)),
    ],
)
def test_what_is_a_verdict_when_it_stands_alone(reply, verdict):
    def number(value: float) -> int | Invalid:
        return 1 if value == 1 else Invalid(NOT_OFFERED)

    declared = grammar(fields=("answer",), alone=re.compile(r"\+(?P<word>yes|no)"), number=number)
    assert declared.read(reply) == verdict


def test_a_line_without_a_group_for_its_end():
    bare = Grammar(
        re.compile(r"(?P<word>yes|no):?", re.IGNORECASE), lambda match: WORDS[match["word"].lower()], {"Yes": 1}
    )
    assert bare.read("It is so.\nYes:") == 1


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"spelled": {}}, "must spell the verdicts"),
        ({"spelled": {"Perhaps": 1}}, "reads Invalid.* where a reply says 'Perhaps', not 1"),
        ({"spelled": {"Yes": 1, "Maybe": 0}}, "where a reply says 'Maybe', not 0"),
        ({"spelled": {"Yes": 0}}, "reads 1 where a reply says 'Yes', not 0"),
        ({"label": r"(?P<word>\Z.)"}, "where a reply says 'Yes'"),  # a line that nothing matches
    ],
)
def test_a_grammar_that_can_never_read_a_verdict_is_refused_when_declared(declared, message):
    with pytest.raises(ValueError, match=message):
        grammar(**declared)
