"""``pearl eval best-of`` with a mock endpoint, the real client and a small reward model."""

from __future__ import annotations

import itertools

import pytest

from pearl.editing.edits import SpanEdit
from pearl.editing.prompt import reply_of

DRAFTS = [
    {"id": "a", "user_id": "ann", "text": "The sea was grey and the sky was wide."},
    {"id": "b", "user_id": "ben", "text": "The sea was loud and the gulls were louder."},
]


@pytest.fixture
def best_of(judge_endpoint, pearl_eval, small_reward, write_lines):
    def run(*more, drafts=DRAFTS, **options):
        numbers = itertools.count()

        def says(body):
            number = next(numbers)
            edit = SpanEdit("sea" if number % 4 else "lake", f"bay{number}", "Cliche")
            return "No parts." if number % 4 == 1 else reply_of((edit,), "...")

        judge_endpoint.says = says
        path = write_lines(drafts, "drafts.jsonl")
        options = {"candidates": 4, "model": small_reward, **options}
        return pearl_eval("best-of", "--drafts", path, *more, **options)

    return run


def test_reward_before_and_after_beside_a_random_edit(best_of, judge_endpoint):
    run = best_of("--json", "-")
    assert run.status == 0, run.err
    found = run.json
    assert (found["n"], found["users"], found["not_reached"]) == (2, 2, 0)
    quality = {name: found["quality"][name]["value"] for name in ("draft", "choice", "random", "any")}
    assert quality["choice"] >= quality["random"] >= quality["draft"]
    gain = found["quality"]["gain"]["choice"]["value"]
    assert gain == pytest.approx(quality["choice"] - quality["draft"])
    assert found["quality"]["over_random"]["value"] == pytest.approx(quality["choice"] - quality["random"])
    candidates = found["candidates"]
    assert (candidates["asked"], candidates["failed"]["value"]) == (8, 0.5)
    assert candidates["failures"] == {"no_parts": 2, "not_executed": 2}
    assert candidates["refused_edits"] == {"missing": 2}
    assert candidates["drops"].get("below_draft", 0) == sum(row["dropped"] for row in found["drafts"])
    assert found["likeness"] is None
    assert list(found["claims"]) == ["choice", "random", "any"]
    assert found["claims"]["any"]["value"] > 0  # bay2 is a fact that no draft has
    assert found["seconds"]["n"] == 2
    assert "text" not in found["drafts"][0]
    again = best_of("--json", "-").json
    assert len(judge_endpoint.bodies) == 8  # every reply is kept
    assert again["seconds"] is None
    assert again["quality"] == found["quality"]


def test_drafts_without_a_person_are_not_one_person(best_of):
    run = best_of("--json", "-", drafts=[{"id": None, "user_id": None, "text": draft["text"]} for draft in DRAFTS])
    assert run.status == 0, run.err
    assert (run.json["users"], [row["id"] for row in run.json["drafts"]]) == (2, ["line 1", "line 2"])


def test_its_tables(best_of):
    out = best_of().out
    assert "2 drafts of 2 people, edited" in " ".join(out.split())
    assert "a random edit not below the draft" in out
    assert "failed: no_parts" in out


@pytest.mark.parametrize(
    ("drafts", "says"),
    [
        ([{"id": "a"}], "drafts.jsonl:1: text: is missing"),
        ([{"id": "a", "text": ""}], "drafts.jsonl:1: text: "),
        ([{"id": "a", "text": "b", "history": "c"}], "drafts.jsonl:1: history: must be an array, not a string."),
        ([DRAFTS[0], DRAFTS[0]], "drafts.jsonl:2: id: 'a' is on line 1 already."),
    ],
)
def test_drafts_that_cannot_be_used(best_of, drafts, says):
    run = best_of(drafts=drafts)
    assert run.status == 2
    assert says in run.err


def test_a_model_that_gives_no_scores(best_of, tmp_path):
    assert "is not a reward model" in best_of(model=tmp_path).err
