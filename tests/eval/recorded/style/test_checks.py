from __future__ import annotations

from dataclasses import replace

import pytest

from eval.recorded.style.ability import Ability
from eval.recorded.style.checks import check_abilities, check_absent, check_judged, check_matched, check_people
from eval.recorded.style.people import read_people


def names(findings):
    return {finding.check: finding for finding in findings}


@pytest.fixture
def checked(read, corrected):
    return lambda lines: names(check_judged(read(lines), corrected))


def test_sound_judgements(checked, detected):
    lines = [
        detected(f"t{i}", verdict, draw=draw, reply=f"Answer {i} {draw}: {verdict}")
        for i, verdict in enumerate(("present", "absent", "present"))
        for draw in range(3)
    ]
    assert checked(lines) == {}


def test_one_label(checked, detected):
    found = checked([detected(f"t{i}", draw=draw, reply=f"{draw}") for i in range(3) for draw in range(2)])
    assert set(found) == {"one_label"}
    assert (found["one_label"].level, found["one_label"].of) == ("broken", ("Ann, yes_no",))


def test_draws(checked, detected):
    assert set(checked([detected("t1"), detected("t2", "absent")])) == {"one_draw"}
    same = [detected(f"t{i}", ("present", "absent")[i], draw=draw) for i in range(2) for draw in range(2)]
    assert set(checked(same)) == {"same_reply"}
    unread = [*same, detected("t3", "invalid"), detected("t3", "present", draw=1)]
    found = checked(unread)
    assert found["few_draws"].of == ("t3: storytelling",)
    assert found["unreadable"].of == ("Ann, yes_no",)


def test_half_a_draw(checked, ranked):
    lines = [ranked(f"p{i}", "A", order, draw=draw) for i in range(2) for draw in range(2) for order in ("ab", "ba")]
    assert "half_draws" not in checked(lines)
    assert checked(lines[:-1])["half_draws"].of == ("p1: storytelling",)


def test_what_no_judgement_says_though_it_is_needed(read, detected, ranked):
    """An empty list would not say why there is no sensitivity to personas."""
    found = names(check_absent(read([ranked(), detected(persona="1")])))
    assert {check: finding.of for check, finding in found.items()} == {
        "no_persona": ("Ann, ab_style",),
        "no_generator": ("Ann, ab_style", "Ann, yes_no"),
        "no_request": ("Ann, ab_style",),
    }
    lines = [ranked(persona="1", request="r", generator="Zoe"), ranked("pair 2", request="r", generator="Zoe")]
    assert names(check_absent(read(lines))) == {}
    helpful = ranked(style=None, scheme="ab_helpfulness", request="r", generator="Zoe")
    assert names(check_absent(read([helpful]))) == {}


@pytest.fixture
def rated(write_lines, corrected):
    def check(labels):
        """By two raters, of one text after the other."""
        lines = [
            {"item": f"t{i}", "style": "storytelling", "rater": rater, "label": label}
            for i, every in enumerate(labels)
            for rater, label in zip(("r1", "r2"), every, strict=False)
        ]
        people = read_people(write_lines(lines))
        return names(check_people(people, people.labels(corrected)))

    return check


def test_people(rated):
    assert rated([("very", "very"), ("not", "not")]) == {}
    assert rated([("very", "very"), ("not",)])["rated_once"].of == ("t1: storytelling",)
    assert rated([("very", "very"), ("not", "very")])["no_vote"].count == 1
    assert rated([("very", "very"), ("cant_tell", "not")])["cant_tell"].count == 1
    assert rated([("not", "not")] * 19 + [("very", "very")])["unbalanced_people"].count == 19
    assert rated([("a_much", "a_slightly")] * 20 + [("b_much", "b_much")] * 2 + [("tie", "tie")] * 5)[
        "position_of_people"
    ].message.startswith("20 of 22 pairs")


def test_what_only_one_side_knows(read, detected, write_lines, corrected):
    lines = [{"item": item, "style": "storytelling", "rater": "r1", "label": "very"} for item in ("t1", "t2")]
    people = read_people(write_lines(lines))
    found = names(check_matched(read([detected("t2"), detected("t3")]), people, corrected))
    assert found.pop("no_three_labels").of == ("Ann, yes_no",)
    assert {check: finding.of for check, finding in found.items()} == {
        "not_rated": ("t3: storytelling",),
        "not_judged": ("t1: storytelling",),
    }


def test_three_labels_of_people_alone(read, detected, write_lines, corrected):
    """An empty list of three labels would not say why."""

    def found(line, label="very", **choices):
        people = read_people(write_lines([{"item": "text 1", "style": "storytelling", "rater": "r1", "label": label}]))
        return "no_three_labels" in names(check_matched(read([line]), people, replace(corrected, **choices)))

    assert found(detected())
    assert not found(detected(label="somewhat"))
    assert not found(detected(), label="present")
    assert found(detected(label="somewhat"), bins="learned")
    assert not found(detected(score=0.4), bins="learned")


def test_abilities(read, detected):
    abilities = {"Ann": Ability(0.5, "x"), "Ben": Ability(None, "x")}
    found = names(check_abilities(read([detected(generator="Ben"), detected("t2", judge="Cy")]), abilities))
    assert found["no_ability"].of == ("Ben", "Cy")
    assert found["no_ability"].to_json()["count"] == 2
