"""``pearl eval quality --traces``, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RESULT = Path(__file__).parents[4] / "docs" / "results" / "edits.json"
PUBLISHED = Path(__file__).parents[5] / "shared" / "data" / "writing-quality" / "edit-cot-test_dataset.json.gz"


def trace(draft, edited, *edits):
    spans = "\n".join(f"Span {number}: `{span}` (Category: `Cliche`)" for number, (span, _) in enumerate(edits, 1))
    rewrites = "\n".join(f"Span {number}: `{span}` -> `{new}`" for number, (span, new) in enumerate(edits, 1))
    asked = f"Edit it.\n\nHere is the paragraph you are editing:\n{draft}"
    answer = f"Part 1: Spans\n\n{spans}\n\nPart 2: Rewrites\n\n{rewrites}\n\nPart 3: Edits\n\n{edited}"
    return {"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]}


DRAFT = "The sea was grey and the sky was wide."
TRACES = [
    trace(DRAFT, "The bay was grey and the sky was vast.", ("sea", "bay "), ("wide", "vast")),
    trace(DRAFT, "The bay was grey and the sky was vast!", ("sea", "bay"), ("wide", "vast")),
    trace(DRAFT, "A bay was grey and the sky was vast.", ("sea", "bay"), ("wide", "vast")),
    trace(DRAFT, "The sea lay grey and the sky was wide.", ("was", "lay")),
    trace(DRAFT, "The hill was grey and the sky was wide.", ("sea was", "hill was"), ("sea", "hill")),
]


@pytest.fixture
def edits(pearl_eval, tmp_path):
    def run(*more, traces=TRACES):
        path = tmp_path / "traces.jsonl"
        path.write_text("\n".join(map(json.dumps, traces)), encoding="utf-8")
        return pearl_eval("quality", "--traces", path, *more)

    return run


def test_the_breakdown_of_what_is_executed_and_of_what_is_not(edits):
    run = edits("--json", "-")
    assert (run.status, run.err) == (0, "")
    found = run.json
    assert (found["n"], found["edits"], found["executed"]) == (5, 9, 6)
    assert found["spans"] == {"once": 8, "several_times": 1, "missing": 0}
    assert found["refused"] == {"several_times": 1, "overlaps": 2}
    assert found["traces"] == {
        "all_executed": 3,
        "reach": {
            "verbatim": {"same": 0, "spaces": 1, "marks": 1, "words": 1},
            "tidied": {"same": 1, "spaces": 0, "marks": 1, "words": 1},
        },
    }
    rows = [(row["record"], row["differs_in"], row["at_edits"], row["elsewhere"]) for row in found["not_reached"]]
    # the mark stands at the edit of "wide"; "A" for "The" at that of "sea"; what was refused differs elsewhere
    assert rows == [(2, "marks", 1, 0), (3, "words", 1, 0), (4, "words", 0, 1), (5, "words", 0, 1)]
    assert [row["refused"] for row in found["not_reached"]] == [{}, {}, {"several_times": 1}, {"overlaps": 2}]


def test_the_change_of_a_score_with_each_edit(edits):
    found = edits("--scorer", "shorter", "--json", "-", traces=TRACES[:3]).json["sensitivity"]
    # sea to bay and wide to vast: no character more or less
    assert (found["n"], found["traces"], found["median"]["value"]) == (6, 3, 0.0)
    longer = trace(DRAFT, "", ("sea", "wide bay"), ("wide", "far"))
    longer["messages"][1]["content"] += "The wide bay was grey and the sky was far."
    found = edits("--scorer", "longer", "--json", "-", traces=[longer]).json["sensitivity"]
    assert [found[name]["value"] for name in ("median", "mean", "raised")] == [2.0, 2.0, 0.5]  # +5 and -1
    assert found["traces_change"] is None  # of one trace nothing can be drawn
    assert [row["median"] for row in found["by_edits"]] == [5.0, 4.0]
    assert found["categories"] == [{"category": "Cliche", "n": 2, "median": {"value": 2.0, "low": -1.0, "high": 5.0}}]


def test_where_no_edit_is_executed_no_score_changes(edits):
    run = edits("--scorer", "shorter", "--json", "-", traces=TRACES[3:])
    assert (run.status, run.json["executed"], run.json["sensitivity"]) == (0, 0, None)
    assert "the span occurs several times" in edits("--scorer", "shorter", traces=TRACES[3:]).out


def test_spans_that_only_one_part_has_are_reported(edits):
    half = trace(DRAFT, "The bay was grey and the sky was wide.", ("sea", "bay"), ("wide", "vast"))
    answer = half["messages"][1]
    answer["content"] = answer["content"].replace("Span 2: `wide` -> `vast`", "Span 2: `grey` -> `blue`")
    found = edits("--json", "-", traces=[half]).json
    assert (found["edits"], found["executed"]) == (3, 1)
    assert found["refused"] == {"no_rewrite": 1, "not_listed": 1}
    assert found["categories"] == {"Cliche": 2}
    assert found["spans"] == {"once": 3, "several_times": 0, "missing": 0}
    assert found["traces"]["all_executed"] == 0
    assert found["not_reached"] == [
        {
            "record": 1,
            "differs_in": "same",
            "at_edits": 0,
            "elsewhere": 0,
            "refused": {"no_rewrite": 1, "not_listed": 1},
        }
    ]


def test_training_records_of_the_edits_that_can_be_executed(edits, tmp_path):
    path = tmp_path / "editor.jsonl"
    assert edits("--training-records", path, "--json", "-").status == 0
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(written) == 3  # the other two have no edit that can be executed
    again = edits("--json", "-", traces=written).json
    assert (again["executed"], again["edits"]) == (6, 6)
    assert again["traces"]["reach"]["tidied"] == {"same": 3, "spaces": 0, "marks": 0, "words": 0}
    answer = written[0]["messages"][-1]["content"]
    assert answer.startswith("Part 1: Spans\nSpan 1: `sea` (Category: `Cliche`)\n")
    assert answer.endswith("Part 3: Edited draft\nThe bay was grey and the sky was vast.")


def test_bad_input(edits):
    pair = {"paragraph1": "a", "paragraph2": "b", "reference_preference": "1"}
    run = edits(traces=[pair])
    assert "holds no trace of edits" in run.refusal
    without = {"messages": [TRACES[0]["messages"][0], {"role": "assistant", "content": "Part 1: x\nPart 2: y"}]}
    run = edits(traces=[TRACES[0], without])
    assert "traces.jsonl:2: messages: the assistant's message must have Part 1, Part 2 and Part 3." in run.refusal
    assert edits("--scorer", "first").status == 2


def test_the_published_traces(pearl_eval):
    if not PUBLISHED.exists():
        pytest.skip(f"{PUBLISHED} is not there")
    found = pearl_eval("quality", "--traces", PUBLISHED, "--json", "-").json
    assert (found["n"], found["edits"]) == (67, 544)
    assert found["spans"] == {"once": 542, "several_times": 2, "missing": 0}
    assert found["refused"] == {"overlaps": 4, "unchanged": 2, "several_times": 2}
    reach = found["traces"]["reach"]
    assert reach["verbatim"]["same"] + reach["verbatim"]["spaces"] == 38
    assert reach["tidied"]["same"] == 38


def test_the_committed_result_is_of_the_published_traces():
    """docs/results/edits.json holds what the command gives, and no text."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    assert (result["n"], result["executed"], result["sensitivity"]["n"]) == (67, 536, 536)
    assert 0 < result["sensitivity"]["median"]["low"] < result["sensitivity"]["printed_median"]


def test_a_reward_model_scores_the_steps(edits, small_reward):
    found = edits("--model", small_reward, "--json", "-").json
    assert found["scorer"] == str(small_reward)
    assert found["sensitivity"]["n"] == 6
    both = edits("--model", small_reward, "--scorer", "shorter")
    assert "two ways to score" in both.refusal
