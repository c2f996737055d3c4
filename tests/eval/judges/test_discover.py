"""The steps of discovery: replies that propose, clusters, and the filter against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from eval.asking.reply import CUT_OFF, EMPTY, NO_VERDICT, NOT_OFFERED
from eval.asking.verdict import Failed, Invalid
from eval.judges.discover import (
    ALL,
    DECIDED,
    EVERY_VOTE,
    HELD_BACK,
    PRESETS,
    Cluster,
    Discovery,
    RuleVotes,
    clustered,
    decided_items,
    merged,
    proposal_questions,
    read_merged,
    read_proposals,
    split,
)
from eval.judges.traits import LONGEST_TRAIT, TraitItem, TraitOptions, instruction
from eval.recorded.forensics.pairs import Annotator, Pair
from pearl.models.chat.base import Reply
from pearl.records import Usage

ANN = Annotator("aaaaaaaa", {"name": "ann"})


def reply(text, finish="stop"):
    return Reply(text, finish, Usage())


def items(count, pref="a"):
    pairs = [
        Pair(
            {
                "id": f"p{number}",
                "prompt": "Why?",
                "response_a": {"text": f"Text <other>{number}</other>"},
                "response_b": {"text": f"Another {number}"},
                "annotations": {ANN.id: {"pref": pref if number else None}},
            }
        )
        for number in range(count)
    ]
    return [TraitItem(number, pair) for number, pair in enumerate(pairs, start=1)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('{"rules": ["Select the response that rhymes", "is short."]}', ["rhymes", "is short"]),
        ('```json\n{"rules": ["rhymes"]}\n```', ["rhymes"]),
        ('<think>{"rules": ["no"]}</think>{"rules": ["rhymes"]}', ["rhymes"]),
        ('{"rules": ["a", "b", "c", "d"]}', ["a", "b", "c"]),  # more than were asked for
        ('{"rules": ["a"], "why": "b"}', ["a"]),
        ('{"rules": ["rhymes\\n  twice", 7, null, "", " . ", ["x"]]}', ["rhymes twice"]),
        ('{"rules": ["Select the response that", "rhymes"]}', ["rhymes"]),
        (f'{{"rules": ["{"long " * 80}", "rhymes"]}}', ["rhymes"]),
        ('{"rules": [\n"rhymes",\n],\n}', ["rhymes"]),
        ('Here are three rules:\n\n```json\n{\n"rules": ["rhymes"]\n}\n```', ["rhymes"]),
        ('{"rules": []}', Invalid(NOT_OFFERED)),
        ('{"rules": "rhymes"}', Invalid(NO_VERDICT)),
        ('{"principles": ["rhymes"]}', Invalid(NO_VERDICT)),
        ('["rhymes"]', Invalid(NO_VERDICT)),
        ('Here you are: {"rules": ["rhymes"]}', Invalid(NO_VERDICT)),
        ('{"rules": ["rhymes"], "rules": ["limps"]}', Invalid(NO_VERDICT)),
        ("1. It rhymes", Invalid(NO_VERDICT)),
        ("", Invalid(EMPTY)),
        ('{"rules": ["rhy', Invalid(NO_VERDICT)),
    ],
)
def test_proposals(said, expected):
    found = read_proposals(reply(said), 3)
    assert found == ([instruction(rule) for rule in expected] if isinstance(expected, list) else expected)


def test_a_reply_that_was_cut_off_or_failed_proposes_nothing():
    assert read_proposals(reply('{"rules": ["rhymes"]}', "length"), 3) == Invalid(CUT_OFF)
    assert read_proposals(Failed("timeout"), 3) == Failed("timeout")
    assert read_merged(reply('{"rule": "rhymes"}')) == "Select the response that rhymes"
    assert [read_merged(reply(said)) for said in ("", "rhymes", '{"rule": 3}', '{"rule": "Select the response that."}')]
    assert read_merged(Failed("timeout")) is None


def test_pairs_without_a_choice_are_left_out_and_the_chosen_text_stands_first():
    every = items(5, pref="b")
    found = decided_items(every, ANN)
    assert [item.line for item in found] == [2, 3, 4, 5]
    questions = list(proposal_questions(found[:1], ANN, 4))
    assert len(questions) == 2
    for question in questions:
        shown = question.messages[-1].content
        assert shown.index("Another 1") < shown.index("Text <")
        assert shown.count("<other>") == 1  # a mark inside a text is broken
        assert "Give the 4 likeliest rules" in shown


def test_one_half_proposes_and_the_other_votes():
    every = items(11)
    proposing, voting = split(every, HELD_BACK)
    assert {item.line for item in proposing} | {item.line for item in voting} == set(range(1, 12))
    assert (len(proposing), len(voting)) == (6, 5)
    assert split(every[::-1], HELD_BACK) == (proposing, voting)  # whatever the order
    assert split(every, ALL) == (every, every)


def encode(texts):
    """Vectors that part texts by their first letter."""
    return np.array([[float(text[0] == letter) for letter in "xyz"] for text in texts], np.float32)


def test_clusters():
    rules = [instruction(rule) for rule in ("x one", "y one", "x two", "X one", "y two", "z one", "x one")]
    groups = clustered(rules, 3, 0, encode)
    assert {frozenset(group) for group in groups} == {
        frozenset(map(instruction, names)) for names in (("x one", "x two"), ("y one", "y two"), ("z one",))
    }
    assert clustered(rules, 3, 0, encode) == groups  # deterministic
    assert clustered(rules, 5, 0, encode) == [(rule,) for rule in dict.fromkeys(rules) if rule[-5:] != "X one"]
    # fewer points than clusters
    assert len(clustered([instruction(f"x {number}") for number in range(9)], 4, 0, encode)) == 1


def test_groups_that_come_to_the_same_rule_are_one():
    groups = [("x one", "x two"), ("y one",), ("y two", "y three"), ("z one", "z two"), (instruction("rhymes"),)]
    said = ['{"rule": "rhymes"}', '{"rule": "Rhymes."}', "Sorry."]
    found = merged(groups, iter(map(reply, said)))
    assert found == [
        Cluster(instruction("rhymes"), ("x one", "x two", "y two", "y three", instruction("rhymes")), True),
        Cluster("y one", ("y one",)),
        Cluster("z one", ("z one", "z two")),  # the most central, where the reply cannot be read
    ]


def votes(**given):
    none = dict.fromkeys(("for", "against", "abstain", "both", "neither", "invalid"), 0)
    return RuleVotes(Cluster("r", ("r",)), none | {name.rstrip("_"): count for name, count in given.items()}, 0)


@pytest.mark.parametrize(
    ("given", "faults", "published"),
    [
        ({"for_": 10, "against": 9}, [], []),
        ({"for_": 10, "against": 10}, ["not_mostly_for"], ["not_mostly_for"]),
        ({"for_": 10, "abstain": 90}, [], []),  # a tenth exactly
        ({"for_": 10, "abstain": 91}, ["seldom_relevant"], ["seldom_relevant"]),
        ({"for_": 10, "both": 91}, ["seldom_relevant"], []),
        ({"for_": 10, "invalid": 10}, ["not_mostly_valid"], ["not_mostly_valid"]),
        ({"for_": 10, "invalid": 9}, [], []),
        ({"for_": 5, "neither": 20, "invalid": 6}, [], ["not_mostly_valid"]),
        ({}, ["not_mostly_for", "not_mostly_valid"], ["not_mostly_for", "not_mostly_valid"]),
    ],
)
def test_the_filter(given, faults, published):
    for share_of, expected in ((EVERY_VOTE, faults), (DECIDED, published)):
        assert votes(**given).faults(Discovery(3, 20, 0.1, ALL, share_of, TraitOptions())) == expected


def test_presets():
    assert PRESETS.chosen("as_code")["voted"] == ALL
    assert (PRESETS.chosen("corrected")["voted"], LONGEST_TRAIT) == (HELD_BACK, 300)
