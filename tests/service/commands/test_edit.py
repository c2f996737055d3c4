"""``pearl edit`` with a mock endpoint and the real client."""

from __future__ import annotations

import pytest

from pearl.style.editing.edits import SpanEdit
from pearl.style.editing.prompt import reply_of

DRAFT = "The sea was grey and the sky was wide."


@pytest.fixture
def edit(judge_endpoint, run_pearl, tmp_path):
    def run(*more, text=DRAFT, says=None):
        reply = reply_of((SpanEdit("sea", "bay", "Cliche"), SpanEdit("was", "lay", "Cliche")), "...")
        judge_endpoint.says = says or (lambda body: reply)
        path = tmp_path / "draft.txt"
        path.write_text(text + "\n", encoding="utf-8")
        return run_pearl("edit", path, *more)

    return run


def test_the_edited_text_and_what_was_not_executed(edit, judge_endpoint):
    run = edit()
    assert (run.status, run.out) == (0, "The bay was grey and the sky was wide.\n")
    assert run.err.splitlines() == [
        "Edited.",
        "  - 'sea'",
        "  + 'bay'  (Cliche)",
        "Edits not executed: 1, the span occurs several times.",
        "  ! 'was': several_times",
    ]
    edit()
    assert len(judge_endpoint.bodies) == 1  # the reply is kept


def test_a_span_is_found_in_a_draft_of_decomposed_letters(edit):
    reply = reply_of((SpanEdit("über", "auf", "Cliche"),), "...")
    run = edit(text="Wir redeten u\u0308ber alles.", says=lambda body: reply)
    assert run.out == "Wir redeten auf alles.\n"


def test_an_empty_draft_is_named(edit, judge_endpoint, tmp_path):
    run = edit(text="  ")
    assert (run.status, run.out, judge_endpoint.bodies) == (2, "", [])
    assert run.err == f"pearl: 'FILE {tmp_path / 'draft.txt'}' is empty; give at least one word.\n"


def test_its_json(edit):
    found = edit("--json", "-", "PEARL_LLM_PRICES=1,1").json
    assert found["text"] == "The bay was grey and the sky was wide."
    assert found["edits"] == [{"start": 4, "span": "sea", "rewrite": "bay", "category": "Cliche"}]
    assert (found["draft"], found["choice"], found["chosen"], found["refused"]) == (
        None,
        None,
        True,
        {"several_times": 1},
    )
    assert [row["refused"] for row in found["proposed"]] == [None, "several_times"]
    assert (found["calls"]["asked"], found["calls"]["cost"]) == (1, 0.00011)


def test_a_reply_without_its_parts_leaves_the_draft(edit):
    run = edit(says=lambda body: "Lovely draft!")
    assert (run.status, run.out) == (0, DRAFT + "\n")
    assert run.err.splitlines() == ["Not edited.", "Candidates that failed: 1 no_parts of 1."]


def test_the_best_of_several_by_a_reward_model(edit, small_reward):
    replies = iter(
        [
            reply_of((SpanEdit("sea", "wide open bay", "Cliche"),), "..."),
            reply_of((SpanEdit("grey", "dull", "Cliche"),), "..."),
            "Nothing.",
        ]
    )
    run = edit("--model", small_reward, "--candidates", 3, "--json", "-", says=lambda body: next(replies))
    found = run.json
    assert (found["candidates"], found["failed"]) == (3, {"no_parts": 1})
    assert 1 <= found["draft"]["quality"] <= 10
    assert found["choice"]["quality"] >= found["draft"]["quality"]
    assert found["chosen"] == (found["text"] != DRAFT)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--candidates", 3), "--candidates needs a reward model to choose by: name one with --model."),
        (("--model", "/nowhere"), "--model /nowhere: /nowhere: is not a reward model"),
        (("--max-cost", 1), "--max-cost needs prices; "),
    ],
)
def test_options_that_cannot_be_used(edit, more, says):
    run = edit(*more)
    assert run.status == 2
    assert says in run.err


def test_a_draft_without_text(edit):
    assert edit(text=" ").status == 2
