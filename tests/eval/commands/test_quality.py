"""``pearl eval quality``, through the command line."""

from __future__ import annotations

import json

import pytest

HARBOUR = "The harbour was quiet that morning and the gulls sat in a row along the wall while the ferry waited"
MARKET = "At noon the market emptied and the women folded their cloths while a boy counted the coins of the day"
STATION = "He had missed the train by a minute and now the whole station seemed to belong to him and one pigeon"


def pair(text, tail, preferred, **more):
    return {"paragraph1": text, "paragraph2": f"{text} {tail}", "reference_preference": preferred} | more


PAIRS = [
    pair(HARBOUR, "for a long, long, long, long, long, long time.", "1", origin="AI-AI"),
    pair(HARBOUR, "for her.", "2", origin="AI-AI"),
    pair(MARKET, "and of the night, and of the day, and of the night.", "1", origin="human-AI"),
]
OTHERS = [pair(STATION, "more.", "1")]


@pytest.fixture
def quality(pearl_eval, tmp_path):
    def written(name, records):
        path = tmp_path / name
        path.write_text(json.dumps(records), encoding="utf-8")
        return path

    def run(*more, scorer="shorter", trained=None, **sets):
        files = [
            word for name, records in (sets or {"one": PAIRS}).items() for word in ("--pairs", written(name, records))
        ]
        training = ["--trained-on", written("train", trained)] if trained else []
        return pearl_eval("quality", *files, *training, "--scorer", scorer, *more)

    return run


def test_accuracy_and_every_trivial_scorer(quality, tmp_path):
    picture, page = tmp_path / "q.svg", tmp_path / "q.html"
    run = quality("--json", "-", "--picture", picture, "--report", page)
    assert (run.status, run.err) == (0, "")
    found = run.json
    assert (found["n"], found["originals"], found["scorer"]) == (3, 2, "shorter")
    assert found["accuracy"] == pytest.approx(2 / 3)
    baselines = found["baselines"]
    assert set(baselines) == {"shorter", "longer", "first", "compression", "type_token"}
    assert (baselines["shorter"], baselines["longer"]) == pytest.approx((2 / 3, 1 / 3))
    assert baselines["first"] == pytest.approx(2 / 3)
    assert found["intervals"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert found["intervals"]["accuracy"]["low"] == 0.5  # both pairs of the harbour stand and fall together
    assert found["difference"]["against"] in ("first", "type_token", "compression")
    assert [(part["origin"], part["n"]) for part in found["origins"]] == [("AI-AI", 2), ("human-AI", 1)]
    assert found["origins"][0]["accuracy"]["longer"]["value"] == 0.5
    equal = found["equal_length"]  # 20 words against 22, and no other
    assert (equal["n"], equal["accuracy"]["shorter"]["value"], equal["accuracy"]["longer"]["value"]) == (1, 0, 1)
    assert picture.stat().st_size > 1000
    assert "lengths within 10%" in page.read_text(encoding="utf-8")


def test_the_mean_of_sets_and_micro_beside_it(quality):
    found = quality("--json", "-", one=PAIRS, two=OTHERS).json
    assert found["accuracy"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["intervals"]["micro"]["value"] == 0.75
    assert [part["n"] for part in found["sets"]] == [3, 1]


def test_a_coin_decides_ties_by_the_seed(quality):
    same = [{"paragraph1": "a b", "paragraph2": "c d", "reference_preference": "1"} for _ in range(40)]
    runs = [quality("--json", "-", "--seed", seed, one=same).json for seed in (0, 0, 1)]
    assert runs[0]["ties"] == {"shorter": 40, "longer": 40, "first": 0, "compression": 40, "type_token": 40}
    assert runs[0] == runs[1]
    assert 0.2 < runs[0]["accuracy"] < 0.8
    assert runs[0]["baselines"] != runs[2]["baselines"]


def test_pairs_that_were_trained_on_are_named(quality):
    found = quality("--json", "-", trained=[{"paragraph": MARKET + " and left.", "score": 5}]).json
    checks = {finding["check"]: finding for finding in found["sets"][0]["findings"]}
    assert checks["in_training"]["records"] == [3]
    assert "train:1" in checks["in_training"]["message"]


def test_equal_texts_are_a_finding(quality):
    equal = {"paragraph1": HARBOUR, "paragraph2": HARBOUR, "reference_preference": "1"}
    run = quality(one=[*PAIRS, equal])
    assert run.status == 0
    assert "equal_texts" in run.out


def test_perplexity_under_the_embedded_model(quality):
    odd = {
        "paragraph1": "The cat sat on the mat.",
        "paragraph2": "Mat cat the on the sat.",
        "reference_preference": "2",
    }
    found = quality("--json", "-", scorer="perplexity", one=[odd]).json
    assert found["accuracy"] == 1.0  # the second is the less likely one
    assert "perplexity" not in found["baselines"]


@pytest.mark.parametrize(
    ("scorer", "records", "says"),
    [
        ("best", PAIRS, "--scorer best: there are shorter, longer, first, compression, type_token, perplexity."),
        ("first", [{"paragraph": "a", "score": 3}], "holds no pair"),
        ("first", [PAIRS[0] | {"reference_preference": "0"}], "record 1: reference_preference: must be '1' or '2'."),
    ],
)
def test_what_cannot_be_used_is_named(quality, scorer, records, says):
    run = quality(scorer=scorer, one=records)
    assert run.status == 2
    assert says in run.err
