"""Each check finds what was planted, in the records it was planted in, and nothing in sound ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eval.recorded.personalized.judgements import read_recording
from eval.recorded.personalized.preflight import CHECKS
from eval.report.checks import preflight


@pytest.fixture
def findings(write_lines):
    def find(lines: list[dict[str, Any]]) -> dict[str, tuple[int, ...]]:
        return {found.check: found.records for found in preflight(CHECKS, read_recording(write_lines(lines)))}

    return find


def show(line: dict[str, Any], right: str | None = None, wrong: str | None = None, persona: str | None = None) -> None:
    """Change what a record shows, in its fields and in its prompt."""
    gold = line["ground_truth"]
    for name, text in ((f"asst_{gold}", right), (f"asst_{'AB'['BA'.index(gold)]}", wrong), ("user_info", persona)):
        if text is not None:
            line["prompt"] = line["prompt"].replace(line[name], text)
            line[name] = text


def test_sound_records_have_no_finding(judged, findings):
    assert findings(judged(60)) == {}


def test_records_of_nothing_but_answers(findings):
    assert findings([{"ground_truth": "AB"[index % 2], "answer": "A"} for index in range(20)]) == {}


def test_distractor_by_the_user(judged, findings):
    lines = judged(20)
    persona = lines[0]["user_info"]
    show(lines[5], wrong=lines[0]["asst_A"])  # every fifth record is of the same persona
    assert lines[5]["user_info"] == persona
    assert lines[0]["ground_truth"] == "A"
    assert findings(lines) == {"distractor_by_the_user": (6,)}


def test_constant_distractor(judged, findings):
    lines = judged(20)
    for line in lines[3:]:
        show(line, wrong="One and the same text.")
    found = findings(lines)
    assert found["constant_distractor"] == tuple(range(4, 21))
    assert "duplicate_distractor" not in found


def neighbours(lines: list[dict[str, Any]]) -> None:
    for index, line in enumerate(lines):
        line |= {f"similar_{name}": f"{name} {index}" for name in ("persona", "question", "response")}


def change(line: dict[str, Any], **fields: Any) -> None:
    line |= fields


def turned(line: dict[str, Any]) -> str:
    """The other answer than the right one."""
    return "AB"["BA".index(line["ground_truth"])]


ALL = tuple(range(1, 41))
PLANTED: dict[str, tuple[Callable[[list[dict[str, Any]]], object], dict[str, tuple[int, ...]]]] = {
    "no prompts": (lambda lines: [line.pop("prompt") for line in lines], {}),
    "no personas": (
        lambda lines: [
            change(line, prompt="Say [[A]] or [[B]] and your certainty.\n[Answer]\n[[", user_info="") for line in lines
        ],
        {},
    ),
    "a distractor twice": (
        lambda lines: (show(lines[4], wrong="The  same text."), show(lines[9], wrong="the same TEXT.")),
        {"duplicate_distractor": (5, 10)},
    ),
    "both alike": (
        lambda lines: show(lines[7], right="Alike.", wrong="Alike. "),
        {"distractor_equals_target": (8,), "distractor_by_the_user": (8,)},
    ),
    "the persona as its neighbour": (
        lambda lines: (neighbours(lines), change(lines[3], similar_persona=lines[3]["user_info"])),
        {"distractor_by_the_user": (4,)},
    ),
    "another persona": (
        lambda lines: change(lines[2], user_info="The person is nobody."),
        {"stale_persona": (3,)},
    ),
    "no persona": (lambda lines: show(lines[6], persona=""), {"persona_without_fields": (7,)}),
    "a persona of signs": (lambda lines: show(lines[6], persona=" . "), {"persona_without_fields": (7,)}),
    "a gap": (
        lambda lines: show(lines[6], persona="The person is nan years old and lives in Bonn."),
        {"persona_with_gaps": (7,)},
    ),
    "a gap at the end": (
        lambda lines: show(lines[6], persona="The person's income is None."),
        {"persona_with_gaps": (7,)},
    ),
    "an empty text": (lambda lines: change(lines[0], asst_A=" "), {"empty_text": (1,)}),
    "a third answer": (
        lambda lines: change(lines[3], ground_truth="C"),
        {"gold_not_offered": (4,), "acc_contradicts_gold": (4,)},
    ),
    "another acc": (lambda lines: change(lines[2], acc=not lines[2]["acc"]), {"acc_contradicts_gold": (3,)}),
    "texts turned round": (
        lambda lines: change(lines[8], asst_A=lines[8]["asst_B"], asst_B=lines[8]["asst_A"]),
        {"texts_contradict_prompt": (9,)},
    ),
    "two right answers": (
        lambda lines: lines.append(lines[4] | {"ground_truth": turned(lines[4]), "acc": False, "answer": "["}),
        {"gold_contradicts_gold": (5, 41), "duplicate_record": (5, 41), "distractor_by_the_user": (5, 41)},
    ),
    "a target of two": (
        lambda lines: [show(line, right="What two people wrote.") for line in lines[3:5]],
        {"target_claimed_twice": (4, 5)},
    ),
    "an id twice": (
        lambda lines: [change(line, id=4 if place == 9 else place) for place, line in enumerate(lines)],
        {"duplicate_id": (5, 10)},
    ),
    "a record twice": (
        lambda lines: lines.append(lines[2]),
        {"duplicate_record": (3, 41), "duplicate_distractor": (3, 41)},
    ),
    "the target in an article": (
        lambda lines: change(lines[1], article=f"Before: {lines[1]['asst_' + lines[1]['ground_truth']].upper()}"),
        {"target_leaked": (2,)},
    ),
    "the persona in the right text": (
        lambda lines: (
            show(lines[1], right="We in Bergen like it."),
            show(lines[2], right="We in Graz", wrong="We in Graz too"),
        ),
        {"persona_leaked": (2,)},
    ),
    "the shorter is right": (
        lambda lines: [show(line, right=f"Short {place}") for place, line in enumerate(lines)],
        {"length_tells_gold": ALL},
    ),
    "certainties off the scale": (
        lambda lines: (change(lines[1], certainty="0"), change(lines[2], certainty=150)),
        {"certainty_off_scale": (2, 3)},
    ),
    "another prompt": (
        lambda lines: change(lines[5], prompt=lines[5]["prompt"].replace("[[B]],", "[[B]], or [[C]],")),
        {"mixed_prompts": (6,)},
    ),
}


@pytest.mark.parametrize("gold", ["A", "B"])
def test_unbalanced_gold(judged, findings, gold):
    lines = judged(40)
    for line in lines[:36]:
        line["ground_truth"] = gold
    del lines[36:]
    assert findings(lines)["unbalanced_gold"] == tuple(range(1, 37))


@pytest.mark.parametrize(("plant", "found"), PLANTED.values(), ids=PLANTED)
def test_what_is_planted_is_found_and_nothing_else(judged, findings, plant, found):
    lines = judged(40)
    plant(lines)
    assert findings(lines) == found


def test_stale_neighbour(judged, findings):
    lines = judged(20)
    neighbours(lines)
    assert findings(lines) == {}
    for line in lines[11:15]:
        line |= {name: lines[10][name] for name in line if name.startswith("similar_")}
    assert findings(lines) == {"stale_neighbour": (12, 13, 14, 15)}


def test_what_a_loop_left_behind(judged, findings):
    """As in the published files: the neighbour of the last record is everybody's."""
    lines = judged(20)
    last = dict(lines[-1])
    for line in lines:
        show(line, wrong=last[f"asst_{last['ground_truth']}"])
        line["user_info"] = last["user_info"]
    found = findings(lines)
    assert found["constant_distractor"] == tuple(range(1, 21))
    assert found["stale_neighbour"] == tuple(range(2, 21))
    assert found["distractor_equals_target"] == (20,)
    assert found["stale_persona"] == tuple(line for line in range(1, 21) if line % 5)
    assert found["distractor_by_the_user"] == (5, 10, 15, 20)
    assert len(found["frequency_tells_gold"]) == 19


def test_a_finding_says_which_how_many_and_what(judged, write_lines):
    lines = [line | {"id": 1} for line in judged(3)]
    (found,) = preflight(CHECKS, read_recording(write_lines(lines)))
    assert found.to_json() == {
        "check": "duplicate_id",
        "level": "broken",
        "count": 3,
        "records": [1, 2, 3],
        "message": "3 of 3 records share their id with another (1 ids).",
    }
    assert found.check in {check.name for check in CHECKS}
