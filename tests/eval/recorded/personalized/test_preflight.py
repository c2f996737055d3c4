"""Each check finds what was planted, in the records it was planted in, and nothing in sound ones."""

from __future__ import annotations

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


def test_records_without_prompts_neither(judged, findings):
    lines = judged(60)
    for line in lines:
        del line["prompt"]
    assert findings(lines) == {}


def test_records_of_nothing_but_answers(findings):
    assert findings([{"ground_truth": "AB"[index % 2], "answer": "A"} for index in range(20)]) == {}


def test_constant_distractor(judged, findings):
    lines = judged(20)
    for line in lines[3:]:
        show(line, wrong="One and the same text.")
    found = findings(lines)
    assert found["constant_distractor"] == tuple(range(4, 21))
    assert "duplicate_distractor" not in found


def test_duplicate_distractor(judged, findings):
    lines = judged(20)
    show(lines[4], wrong="The  same text.")
    show(lines[9], wrong="the same TEXT.")
    assert findings(lines) == {"duplicate_distractor": (5, 10)}


def test_distractor_equals_target(judged, findings):
    lines = judged(20)
    show(lines[7], right="Alike.", wrong="Alike. ")
    assert findings(lines)["distractor_equals_target"] == (8,)


def test_distractor_by_the_user(judged, findings):
    lines = judged(20)
    persona = lines[0]["user_info"]
    show(lines[5], wrong=lines[0]["asst_A"])  # every fifth record is of the same persona
    assert lines[5]["user_info"] == persona
    assert lines[0]["ground_truth"] == "A"
    assert findings(lines) == {"distractor_by_the_user": (6,)}


def neighbours(lines: list[dict[str, Any]]) -> None:
    for index, line in enumerate(lines):
        line |= {f"similar_{name}": f"{name} {index}" for name in ("persona", "question", "response")}


def test_stale_neighbour(judged, findings):
    lines = judged(20)
    neighbours(lines)
    assert findings(lines) == {}
    for line in lines[11:15]:
        line |= {name: lines[10][name] for name in line if name.startswith("similar_")}
    assert findings(lines) == {"stale_neighbour": (12, 13, 14, 15)}


def test_a_neighbour_that_is_the_persona_itself(judged, findings):
    lines = judged(20)
    neighbours(lines)
    lines[3]["similar_persona"] = lines[3]["user_info"]
    assert findings(lines) == {"distractor_by_the_user": (4,)}


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


def test_a_persona_that_is_not_the_one_shown(judged, findings):
    lines = judged(20)
    lines[2]["user_info"] = "The person is nobody."
    assert findings(lines) == {"stale_persona": (3,)}


@pytest.mark.parametrize("persona", ["", " . "])
def test_persona_without_fields(judged, findings, persona):
    lines = judged(20)
    show(lines[6], persona=persona)
    assert findings(lines)["persona_without_fields"] == (7,)


@pytest.mark.parametrize("persona", ["The person is nan years old and lives in Bonn.", "The person's income is None."])
def test_persona_with_gaps(judged, findings, persona):
    lines = judged(20)
    show(lines[6], persona=persona)
    assert findings(lines) == {"persona_with_gaps": (7,)}


def test_without_personas_their_checks_do_not_run(judged, findings):
    lines = judged(20, prompt="Say [[A]] or [[B]] and your certainty.\n[Answer]\n[[", user_info="")
    assert findings(lines) == {}


def test_empty_text(judged, findings):
    lines = judged(20)
    lines[0]["asst_A"] = " "
    assert "empty_text" in findings(lines)


@pytest.mark.parametrize("gold", ["A", "B"])
def test_unbalanced_gold(judged, findings, gold):
    lines = judged(40)
    for line in lines[:36]:
        line["ground_truth"] = gold
    del lines[36:]
    assert findings(lines)["unbalanced_gold"] == tuple(range(1, 37))


def test_gold_not_offered(judged, findings):
    lines = judged(40)
    lines[3]["ground_truth"] = "C"
    assert findings(lines)["gold_not_offered"] == (4,)


def test_acc_contradicts_gold(judged, findings):
    lines = judged(20)
    lines[2]["acc"] = not lines[2]["acc"]
    assert findings(lines) == {"acc_contradicts_gold": (3,)}


def test_texts_contradict_prompt(judged, findings):
    lines = judged(20)
    lines[8]["asst_A"], lines[8]["asst_B"] = lines[8]["asst_B"], lines[8]["asst_A"]
    assert findings(lines)["texts_contradict_prompt"] == (9,)


def test_gold_contradicts_gold(judged, findings):
    lines = judged(20)
    lines.append(lines[4] | {"ground_truth": "AB"["BA".index(lines[4]["ground_truth"])], "acc": False, "answer": "["})
    assert findings(lines)["gold_contradicts_gold"] == (5, 21)


def test_target_claimed_twice(judged, findings):
    lines = judged(20)
    for line in lines[3:5]:
        show(line, right="What two people wrote.")
    assert findings(lines)["target_claimed_twice"] == (4, 5)


def test_duplicate_ids(judged, findings):
    lines = [line | {"id": index} for index, line in enumerate(judged(20))]
    lines[9]["id"] = lines[4]["id"]
    assert findings(lines) == {"duplicate_id": (5, 10)}


def test_duplicate_record(judged, findings):
    lines = judged(20)
    assert findings([*lines, lines[2]])["duplicate_record"] == (3, 21)


def test_target_leaked(judged, findings):
    lines = judged(20)
    lines[1]["article"] = f"Before: {lines[1]['asst_' + lines[1]['ground_truth']].upper()}"
    assert findings(lines) == {"target_leaked": (2,)}


def test_persona_leaked(judged, findings):
    lines = judged(20)
    show(lines[1], right="We in Bergen like it.")
    show(lines[2], right="We in Graz", wrong="We in Graz too")
    assert findings(lines) == {"persona_leaked": (2,)}


def test_length_tells_gold(judged, findings):
    lines = judged(40)
    for index, line in enumerate(lines):
        show(line, right=f"Short {index}")
    assert findings(lines)["length_tells_gold"] == tuple(range(1, 41))


def test_certainty_off_scale(judged, findings):
    lines = judged(20)
    lines[1]["certainty"], lines[2]["certainty"] = "0", 150
    assert findings(lines) == {"certainty_off_scale": (2, 3)}


def test_mixed_prompts(judged, findings):
    lines = judged(20)
    lines[5]["prompt"] = lines[5]["prompt"].replace("[[B]],", "[[B]], or [[C]],")
    assert findings(lines) == {"mixed_prompts": (6,)}


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
