"""The choices of the personalised judge: the scale of certainty, several tries, ties without certainty, key fields."""

from __future__ import annotations

import json
from collections import Counter

import pytest

LINES = [
    {
        "id": f"p{n}",
        "persona": {"age": 30 + n, "education": f"degree {n}", "living country": f"country {n}", "party": f"party {n}"},
        "responses": {"A": f"The hills, says {n}.", "B": f"The theatre, says {n}."},
        "preferred": "A",
    }
    for n in range(4)
]


@pytest.fixture
def personalized(run_pearl, write_lines, judge_endpoint, tmp_path):
    def run(*more, without=()):
        lines = [line | {"persona": {k: v for k, v in line["persona"].items() if k not in without}} for line in LINES]
        words = ("--items", write_lines(lines, "items.jsonl"), f"PEARL_HOME={tmp_path}", "--json", "-")
        done = run_pearl("judge", "personalized", *words, *more)
        assert done.status == 0, done.err
        return done.json

    return run


def prompts(endpoint):
    return [body["messages"][-1]["content"] for body in endpoint.bodies]


def test_a_certainty_from_one_to_five(personalized, judge_endpoint, run_pearl, tmp_path):
    judge_endpoint.says = lambda body: "A]] [[4]]"
    records = tmp_path / "records.jsonl"
    (found,) = personalized("--choose", "scale=five", "--records", records)["files"]
    assert all("a number from 1 to 5 in double brackets" in prompt for prompt in prompts(judge_endpoint))
    assert all("\n5 (Highly Confident)" in prompt for prompt in prompts(judge_endpoint))
    assert (found["high"]["total"], found["accuracy"]) == (8, 0.5)  # 4 of 5 is 80 of 100
    assert {json.loads(line)["certainty"] for line in records.read_text().splitlines()} == {4}
    for reading in ("recorded", "strict"):
        again = run_pearl("eval", "personalized", "--records", records, "--choose", f"reading={reading}", "--json", "-")
        (read,) = again.json["files"]
        assert (read["high"]["total"], read["correct"]) == (8, 4)
        assert "certainty_off_scale" not in {finding["check"] for finding in read["preflight"]}


def test_a_number_of_another_scale_is_none(personalized, judge_endpoint):
    judge_endpoint.says = lambda body: "A]] [[80]]"
    (found,) = personalized("--choose", "scale=five")["files"]
    assert found["invalid_reasons"] == {"certainty_out_of_range": 8}


def test_four_tries_at_most(personalized, judge_endpoint):
    """Item p0 answers at once, p1 the second time, p2 the fourth, p3 never."""
    asked: Counter[str] = Counter()
    needed = {"0": 1, "1": 2, "2": 4, "3": 99}

    def says(body):
        prompt = body["messages"][-1]["content"]
        asked[prompt] += 1
        number = next(n for n in needed if f"The hills, says {n}." in prompt)
        return "A]] [[80]]" if asked[prompt] >= needed[number] else "no idea"

    judge_endpoint.says = says
    result = personalized("--choose", "tries=four_times")
    (found,) = result["files"]
    assert found["verdicts"]["A"] == 6
    assert found["invalid_reasons"] == {"no_verdict": 2}
    assert sorted(asked.values()) == [1, 1, 2, 2, 4, 4, 4, 4]
    assert [result["elicitation"][f"tries_{number}"]["questions"] for number in (2, 3, 4)] == [6, 4, 4]
    calls = len(judge_endpoint.bodies)
    assert personalized("--choose", "tries=four_times")["files"][0]["verdicts"] == found["verdicts"]
    assert len(judge_endpoint.bodies) == calls  # every draw is kept
    assert personalized()["files"][0]["verdicts"]["A"] == 2


def test_as_published_a_tie_has_no_certainty(personalized, judge_endpoint):
    judge_endpoint.says = lambda body: "C]]"
    (found,) = personalized("--preset", "as_published", "--tie")["files"]
    assert found["asked"] == {"tie": True, "certainty": False, "persona": True}
    assert not any("certainty" in prompt for prompt in prompts(judge_endpoint))
    personalized("--tie")
    assert "certainty as a number" in prompts(judge_endpoint)[-1]


def test_as_published_nobody_is_sure_without_a_persona(personalized, judge_endpoint):
    judge_endpoint.says = lambda body: "A]] [[80]]" if "[User Profile]" in body["messages"][-1]["content"] else "A]]"
    (found,) = personalized("--preset", "as_published", "--no-persona")["files"]
    assert found["asked"] == {"tie": False, "certainty": False, "persona": False}
    assert found["verdicts"]["A"] == 4
    assert not any("certainty" in prompt for prompt in prompts(judge_endpoint))
    result = personalized("--preset", "as_published", "--ablate", "none")
    assert (result["files"][0]["high"]["total"], result["files"][0]["asked"]["certainty"]) == (4, True)
    full, blind = result["ablation"]["modes"]
    assert (full["told"], full["high"]["of"], blind["told"], blind["high"]) == ("all fields", 4, "no persona", None)
    assert blind["accuracy"]["of"] == 4
    personalized("--no-persona")
    assert "certainty as a number" in prompts(judge_endpoint)[-1]


@pytest.mark.parametrize(
    ("key", "told"), [("described", "education, living country"), ("in_code", "age, education, party")]
)
def test_key_fields(personalized, judge_endpoint, key, told):
    judge_endpoint.says = lambda body: "A]] [[80]]"
    result = personalized("--ablate", "key", "--choose", f"key={key}")
    assert [row["told"] for row in result["ablation"]["modes"]] == ["all fields", told]


def test_key_fields_of_people_without_a_party(personalized, judge_endpoint):
    judge_endpoint.says = lambda body: "A]] [[80]]"
    result = personalized("--ablate", "key", "--preset", "as_published", without=("party",))
    assert [row["told"] for row in result["ablation"]["modes"]] == ["all fields", "education, living country"]
