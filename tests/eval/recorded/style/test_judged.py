from __future__ import annotations

from dataclasses import replace

import pytest

from eval.recorded.labels import item_name
from eval.recorded.style.judged import read_judged
from eval.recorded.style.people import read_people
from pearl.errors import InputError


def test_draws_become_one_record(read, detected, corrected):
    verdicts = ("present", "present", "absent", "invalid")
    judged = read([detected(verdict=verdict, draw=draw) for draw, verdict in enumerate(verdicts)])
    (unit,) = judged.units
    assert unit.labels == {"present": 2, "absent": 1}
    assert unit.label(corrected) == "present"
    assert (unit.lines, unit.unused) == (4, 1)
    assert judged.verdicts == {("detection", "Ann", "yes_no"): {"present": 2, "absent": 1, "invalid": 1}}
    assert judged.lines == 4


def test_both_orders_make_a_draw(read, ranked, corrected):
    lines = [
        ranked(draw=0, order="ab", verdict="A"),  # takes a
        ranked(draw=0, order="ba", verdict="B"),  # b was shown first: takes a
        ranked(draw=1, order="ab", verdict="A"),
        ranked(draw=1, order="ba", verdict="A"),  # takes b: a tie
        ranked(draw=2, order="ab", verdict="A"),
        ranked(draw=2, order="ba", verdict="error"),  # half a draw
    ]
    (unit,) = read(lines).units
    assert unit.labels == {"a": 1, "tie": 1}
    assert (unit.half_draws, unit.unused, unit.label(corrected)) == (1, 2, None)
    assert unit.label(replace(corrected, half="tie")) == "tie"


def test_scores_of_a_rubric(read, ranked, corrected):
    scores = {"a": (4, 2, None), "b": (3, 3, 5)}
    lines = [
        ranked(order=None, response=response, draw=draw, score=score, verdict="invalid" if score is None else "scored")
        for response, every in scores.items()
        for draw, score in enumerate(every)
    ]
    (unit,) = read(lines).units
    assert unit.means == (3.0, pytest.approx(11 / 3))
    assert unit.label(corrected) == "b"
    assert unit.labels == {"a": 1, "b": 1}  # 4 to 3, then 2 to 3; the third has one score
    assert unit.unused == 2


def test_one_name_for_a_style(read, detected, ranked):
    judged = read(
        [
            detected(style="Playful & Whimsical"),
            ranked(style=["storytelling", "Rich Descriptions"]),
            ranked(style=None, scheme="ab_helpfulness"),
            detected(style="my own"),
        ]
    )
    assert [unit.key.style for unit in judged.units] == [
        "playful and whimsical",
        "storytelling, rich descriptions",
        "",
        "my own",
    ]


def test_ratings_match_whatever_the_order_of_the_styles(read, ranked, write_lines):
    (unit,) = read([ranked(style=["my own", "storytelling", "legal precision"])]).units
    rated = [
        {"item": "pair 1", "rater": f"r{index}", "label": "a", "style": style}
        for index, style in enumerate(
            (["Storytelling", "Legal precision", "my own"], ["legal precision", "my own", "storytelling"])
        )
    ]
    assert read_people(write_lines(rated, "ratings.jsonl")).ratings == {unit.subject: {"a": 2}}
    (pair,) = read([ranked(style=["storytelling", "legal precision"])]).units
    rated = [{"item": "pair 1", "rater": "r", "label": "b", "style": "storytelling, Legal Precision"}]
    assert read_people(write_lines(rated, "page.jsonl")).ratings == {pair.subject: {"b": 1}}
    assert item_name(1, ["storytelling", "legal precision"]) == item_name(1, "legal precision, storytelling")


def test_same_reply_in_all_draws(read, detected):
    def flags(*replies):
        return [unit.same_reply for unit in read([detected(draw=i, reply=r) for i, r in enumerate(replies)]).units]

    assert flags("Yes", "Yes") == [True]
    assert flags("Yes", "Yes.") == [False]
    assert flags("Yes") == [False]


def test_other_fields_are_named(read, detected):
    assert read([detected(mood="good", score=1.0, label="very"), detected("text 2")]).passed_over == {"mood": 1}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "guess"}, "kind: must be one of detection, ranking."),
        ({"verdict": "A"}, "verdict: must be one of absent, present, abstain, invalid, error."),
        ({"draw": -1}, "draw: must be a whole number, 0 or more."),
        ({"draw": True}, "draw: must be"),
        ({"draw": 1.5}, "draw: must be"),
        ({"style": 3}, "style: must be a style or an array of styles."),
        ({"style": [""]}, "style: must be"),
        ({"judge": ""}, "judge: "),
        ({"reply": 4}, "reply: must be a string, not"),
        ({"kind": "ranking", "verdict": "A"}, "order: is missing"),
        ({"kind": "ranking", "verdict": "A", "order": "aa"}, "order: must be one of ab, ba."),
        ({"kind": "ranking", "verdict": "scored", "response": "c"}, "response: must be one of a, b."),
        ({"kind": "ranking", "verdict": "scored", "response": "a", "score": "4"}, "score: must be a number"),
    ],
)
def test_bad_lines(write_lines, detected, fields, said):
    path = write_lines([detected(), detected("text 2", **fields)])
    with pytest.raises(InputError) as raised:
        read_judged([path])
    assert raised.value.message.startswith(f"{path}:2: {said}")


@pytest.mark.parametrize("name", ["kind", "item", "task", "scheme", "judge", "draw", "verdict"])
def test_missing_fields(write_lines, detected, name):
    line = detected()
    del line[name]
    path = write_lines([line])
    with pytest.raises(InputError, match=f":1: {name}: is missing; the line has"):
        read_judged([path])


def test_the_same_judgement_twice(write_lines, detected):
    first, second = write_lines([detected()], "a.jsonl"), write_lines([detected("text 2"), detected()], "b.jsonl")
    with pytest.raises(InputError, match=r"b.jsonl:2: draw: draw 0 of the item 'text 1' by 'Ann' is at .*a.jsonl:1"):
        read_judged([first, second])


@pytest.mark.parametrize("other", [{"task": "tweet"}, {"persona": "1"}, {"generator": "Zoe"}])
def test_an_item_is_one_text(write_lines, detected, other):
    path = write_lines([detected(), detected(draw=1, **other)])
    with pytest.raises(InputError, match=f":2: {next(iter(other))}: the item 'text 1' has another"):
        read_judged([path])


def test_a_file_without_a_judgement(write_lines):
    with pytest.raises(InputError, match="there is no judgement in it"):
        read_judged([write_lines([])])
