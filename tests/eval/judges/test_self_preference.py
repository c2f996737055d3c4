"""What a judge makes of its own texts: arithmetic by hand, then through the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eval.asking.bench import names_of
from eval.judges.self_preference import self_preference
from pearl.settings import load_settings
from pearl.stats.bootstrap import Bootstrap

ME = frozenset({"me"})


def choices(*rows, gold=False):
    """Who wrote the first and the second, what is taken and, with ``gold``, what is right: 1, -1 or 0."""
    columns = list(zip(*rows, strict=True))
    right = np.array(columns[3], float) if gold else None
    names = [str(place) for place in range(len(rows))]
    return list(zip(*columns[:2], strict=True)), np.array(columns[2], float), right, Bootstrap(names)


def own(*rows, gold=False):
    return self_preference(ME, {}, *choices(*rows, gold=gold))["own"]


def test_its_own_against_how_often_it_is_right():
    found = own(
        ("me", "you", 1, 1),
        ("me", "you", 1, -1),
        ("you", "me", -1, 1),
        ("you", "me", 1, -1),
        ("me", "you", 0, 1),  # takes neither
        ("me", "you", 1, 0),  # neither is right
        ("me", "me", 1, 1),
        (None, "me", -1, 1),  # the other may be its own, too
        gold=True,
    )
    assert (found["known"], found["one_is_own"], found["n"], found["against"]) == (7, 6, 4, "gold")
    assert found["takes_own"]["value"] == 3 / 4
    assert found["expected"]["value"] == 2 / 4
    assert found["difference"]["value"] == 1 / 4
    assert found["difference"]["low"] <= 1 / 4 <= found["difference"]["high"]
    assert "undefined" not in found


def test_its_own_against_the_same_side_where_both_or_neither_are_its_own():
    found = own(
        ("me", "you", 1),
        ("me", "you", 1),
        ("you", "me", 1),
        ("you", "you", 1),
        ("me", "me", -1),
        ("you", "she", -1),
        ("you", "she", -1),
        ("you", "she", 0),
    )
    assert (found["known"], found["n"], found["against"]) == (8, 3, "others")
    assert found["takes_own"]["value"] == pytest.approx(2 / 3)
    # the first is taken in 1 of 4 of the others, the second in 3 of 4; its own is the first twice, the second once
    assert found["expected"]["value"] == pytest.approx((2 * 1 / 4 + 1 * 3 / 4) / 3)
    assert found["difference"]["value"] == pytest.approx(2 / 3 - 5 / 12)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(None, None, 1), ("me", None, 1)], "no item says which models"),
        ([("me", "me", 1), ("you", "she", 1)], "of no item only one text"),
        ([("me", "you", 0), ("you", "she", 1)], "no answer takes one"),
        ([("me", "you", 1), ("me", "you", -1)], "there is no judgement of texts both"),
    ],
)
def test_what_cannot_be_said_is_null_with_a_reason(rows, reason):
    found = own(*rows)
    assert found["difference"] is None
    assert reason in found["undefined"]


def test_a_family_is_what_somebody_says_it_is():
    rows = [("cousin", "you", 1, 1), ("you", "cousin", -1, 1), ("cousin", "stranger", 1, 1), ("me", "cousin", 1, 1)]
    families = {"me": "we", "cousin": "we", "you": "they"}
    found = self_preference(ME, families, *choices(*rows, gold=True))["family"]
    assert (found["known"], found["n"]) == (3, 2)
    assert (found["takes_own"]["value"], found["expected"]["value"]) == (1, 1 / 2)
    nobody = self_preference(ME, {"you": "they"}, *choices(*rows, gold=True))["family"]
    assert "which families" in nobody["undefined"]


def test_the_embedded_judge_is_known_by_its_name_and_by_its_identity():
    name, identity = names_of(load_settings(llm="embedded"))
    assert name == "SmolLM2-135M-Instruct"
    assert identity.startswith(f"{name} (")


DRAFTS = [
    {
        "id": f"i{n}",
        "reference": f"What was written, {n}.",
        "candidates": {"ours": f"Ours {n}, good.", "bm25": f"Theirs {n}."},
        "generators": {"ours": "mock" if n < 4 else "else", "bm25": "else"},
    }
    for n in range(6)
]


@pytest.fixture
def authorship(run_pearl, write_lines, judge_endpoint, tmp_path):
    judge_endpoint.says = takes_ours_where_it_wrote_it

    def run(*more, lines=DRAFTS):
        words = ("--items", write_lines(lines, "items.jsonl"), f"PEARL_HOME={tmp_path}")
        return run_pearl("judge", "authorship", *words, *more)

    return run


def takes_ours_where_it_wrote_it(body):
    text = body["messages"][-1]["content"]
    ours_first = text.index("Ours") < text.index("Theirs")
    ours = any(f"Ours {n}" in text for n in range(4))
    return "POST ONE" if ours == ours_first else "POST TWO"


def test_authorship_with_generators(authorship, tmp_path):
    run = authorship("--json", "-")
    assert (run.status, run.json["passed_over"]) == (0, {})
    found = run.json["self_preference"]
    assert list(found) == ["own"]
    assert (found["own"]["known"], found["own"]["n"]) == (36, 24)
    assert (found["own"]["takes_own"]["value"], found["own"]["expected"]["value"]) == (1, 0)
    (tmp_path / "models.json").write_text(json.dumps({"mock": {"family": "m"}, "else": {"family": "m", "score": 1}}))
    related = authorship("--json", "-", "--ability", tmp_path / "models.json").json
    assert related["self_preference"]["family"]["undefined"] == "of no item only one text is its own"
    assert "--ability" in related["command"]
    assert "How often the judge takes its own" in authorship().out


def test_authorship_without_generators(authorship):
    lines = [{name: value for name, value in line.items() if name != "generators"} for line in DRAFTS]
    run = authorship("--json", "-", lines=lines)
    assert "no item says which models" in run.json["self_preference"]["own"]["undefined"]
    assert "takes its own" not in authorship(lines=lines).out


@pytest.mark.parametrize(
    ("generators", "complaint"),
    [
        ("mock", ":1: generators: must be an object, not a string"),
        ({"ours": []}, ":1: generators.ours: 'generators.ours' must be a string"),
    ],
)
def test_generators_of_another_kind(authorship, judge_endpoint, generators, complaint):
    run = authorship("--json", "-", lines=[{**DRAFTS[0], "generators": generators}])
    assert run.status == 2
    assert complaint in run.err
    assert judge_endpoint.bodies == []


def test_personalized_with_generators(run_pearl, write_lines, judge_endpoint, tmp_path):
    def takes_the_hills(body):
        text = body["messages"][-1]["content"]
        return "A]] [[70]]" if text.index("hills") < text.index("sea") else "B]] [[70]]"

    judge_endpoint.says = takes_the_hills
    lines = [
        {
            "persona": {"age": n},
            "responses": {"A": f"The hills {n}.", "B": f"The sea {n}."},
            "preferred": "A" if n < 3 else "B",
            "generator_a": "mock" if n else "else",
            **({"generator_b": "else"} if n < 5 else {}),
        }
        for n in range(6)
    ]
    words = ("--items", write_lines(lines, "items.jsonl"), f"PEARL_HOME={tmp_path}")
    run = run_pearl("judge", "personalized", *words, "--json", "-")
    assert (run.status, run.json["passed_over"]) == (0, {})
    found = run.json["self_preference"]["own"]
    # items 1 to 4, of which 1 and 2 are right, in both orders
    assert (found["known"], found["n"], found["against"]) == (10, 8, "gold")
    assert (found["takes_own"]["value"], found["expected"]["value"]) == (1, 2 / 4)
    assert found["difference"]["value"] == 1 / 2
    assert "takes its own" in run_pearl("judge", "personalized", *words).out
