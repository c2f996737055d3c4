"""``pearl eval quality``, through the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eval.recorded.quality.scorers import surface_scorer
from pearl.models.weights.table import embedded_model_file
from retriever.reward.model import RewardModel
from retriever.reward.records import QualityPair

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
def quality(pearl_eval, tmp_path, monkeypatch):
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))

    def written(name, records):
        path = tmp_path / name
        path.write_text(json.dumps(records), encoding="utf-8")
        return path

    def run(*more, scorer="shorter", trained=None, perplexity=False, **sets):
        files = [
            word for name, records in (sets or {"one": PAIRS}).items() for word in ("--pairs", written(name, records))
        ]
        training = ["--trained-on", written("train", trained)] if trained else []
        named = ["--scorer", scorer] if scorer else []
        flag = ["--perplexity"] if perplexity else []
        return pearl_eval("quality", *files, *training, *named, *flag, *more)

    return run


def test_of_one_original_text_the_pairs_are_resampled(quality):
    run = quality(one=PAIRS[:2])
    assert "2 pairs of 1 original texts" in " ".join(run.out.split())
    assert "by bootstrap over pairs." in " ".join(run.out.split())
    interval = quality("--json", "-", scorer="longer", one=PAIRS[:2]).json["intervals"]["accuracy"]
    assert interval == {"value": 0.5, "low": 0.0, "high": 1.0}


def test_accuracy_and_every_trivial_scorer(quality, tmp_path):
    page = tmp_path / "q.html"
    run = quality("--json", "-", "--report", page)
    assert (run.status, run.err) == (0, "")
    found = run.json
    assert (found["n"], found["originals"], found["scorer"]) == (3, 2, "shorter")
    assert found["command"].endswith("one --scorer shorter")
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
    better = {name: (part["n"], part["accuracy"]["longer"]["value"]) for name, part in found["better_is"].items()}
    assert better == {"longer": (1, 1), "shorter": (2, 0)}
    assert "lengths within 10%" in page.read_text(encoding="utf-8")


def test_the_mean_of_sets_and_micro_beside_it(quality):
    found = quality("--json", "-", one=PAIRS, two=OTHERS).json
    assert found["accuracy"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["intervals"]["micro"]["value"] == 0.75
    assert [part["n"] for part in found["sets"]] == [3, 1]
    micro = {name: accuracy["value"] for name, accuracy in found["micro"]["accuracy"].items()}
    assert micro == {"shorter": 0.75, "longer": 0.25, "first": 0.75, "compression": 0.5, "type_token": 0.75}


def test_the_table_has_micro_and_names_the_set_of_each_fault(quality, tmp_path):
    page = tmp_path / "q.html"
    assert quality("--report", page, one=[*PAIRS, PAIRS[0]], two=[*OTHERS, OTHERS[0]]).status == 0
    shown = page.read_text(encoding="utf-8")
    assert "each pair once (6)" in shown
    assert all(f"Checks of {tmp_path / name}." in shown for name in ("one", "two"))


def test_a_coin_decides_ties(quality):
    same = [{"paragraph1": "a b", "paragraph2": "c d", "reference_preference": "1"} for _ in range(40)]
    runs = [quality("--json", "-", one=same).json for _ in range(2)]
    assert runs[0]["ties"] == {"shorter": 40, "longer": 40, "first": 0, "compression": 40, "type_token": 40}
    assert runs[0] == runs[1]
    assert 0.2 < runs[0]["accuracy"] < 0.8


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


ODD = {"paragraph1": "The cat sat on the mat.", "paragraph2": "Mat cat the on the sat.", "reference_preference": "2"}


@pytest.mark.slow
def test_perplexity_under_the_embedded_model_is_read_once(embedded_once, quality):
    run = quality("--json", "-", perplexity=True, one=[ODD])
    assert "perplexity: 2 of 2" in run.err
    found = run.json
    assert found["command"].endswith("one --scorer shorter --perplexity")
    assert found["baselines"]["perplexity"] == 1.0  # the second is the less likely one
    assert found["difference"] == {"against": "perplexity"} | found["differences"]["perplexity"]
    alone = quality("--json", "-", scorer="perplexity", one=[ODD]).json
    assert (alone["accuracy"], alone["ties"]["perplexity"]) == (1.0, 0)
    assert alone["difference"]["against"] != "perplexity"


def test_perplexity_that_cannot_be_computed_can_be_left_out(quality, monkeypatch):
    monkeypatch.setattr("pearl.models.weights.table.find_spec", lambda name: None)
    monkeypatch.setattr("retriever.models.load_auxiliary.load_auxiliary", lambda name: embedded_model_file())
    run = quality(perplexity=True, one=[ODD])
    assert (run.status, run.err.count("\n")) == (1, 1)
    assert "leave the perplexity out" in run.err
    assert "perplexity" not in quality("--json", "-", one=[ODD]).json["baselines"]


def test_a_pair_counts_in_the_first_file_that_has_it(quality):
    swapped = {
        "paragraph1": PAIRS[1]["paragraph2"],
        "paragraph2": PAIRS[1]["paragraph1"],
        "reference_preference": "1",
        "origin": "AI-AI",
    }
    found = quality("--json", "-", one=PAIRS, two=[*OTHERS, swapped]).json
    assert [part["n"] for part in found["sets"]] == [3, 1]
    (finding,) = [finding for finding in found["sets"][1]["findings"] if finding["check"] == "in_earlier_set"]
    assert (finding["level"], finding["records"]) == ("broken", [2])
    assert finding["message"].endswith("one:2.")
    assert found["accuracy"] == quality("--json", "-", one=PAIRS, two=OTHERS).json["accuracy"]


def test_a_file_given_twice_is_refused(quality):
    for copy in (PAIRS, PAIRS[1:]):
        run = quality(one=PAIRS, two=copy)
        assert "two: every pair in it stands in an earlier file, the first one in" in run.refusal
        assert "name each set once" in run.err


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
    assert says in run.refusal


def test_a_reward_model_beside_trivial_scorers_and_a_surface_model(quality, small_reward):
    model = small_reward
    shown = [
        pair(f"{tail}, said {number} of them.", tail, "1") for number, tail in enumerate(("Yes", "No", "So it is"))
    ]
    found = quality("--json", "-", "--model", model, trained=[*PAIRS, *OTHERS], one=shown).json
    assert found["scorer"] == str(model)
    assert set(found["baselines"]) == {"shorter", "longer", "first", "compression", "type_token", "surface"}
    pairs = [(each["paragraph1"], each["paragraph2"]) for each in shown]
    margins = RewardModel.load(model).prefer(*map(list, zip(*pairs, strict=True)))
    right = [(margin > 0) == (each["reference_preference"] == "1") for margin, each in zip(margins, shown, strict=True)]
    assert found["accuracy"] == pytest.approx(np.mean(right))
    assert found["differences"]["longer"]["value"] == pytest.approx(np.mean(right))  # the shorter is always better
    again = quality("--json", "-", "--model", model, scorer=None, one=shown).json
    assert (again["accuracy"], "surface" in again["baselines"]) == (found["accuracy"], False)
    assert "reward model R on" in found["prefers"][str(model)]


def test_pairs_whose_ends_the_model_does_not_read_are_named(quality, small_reward):
    most = RewardModel.load(small_reward).artifact.max_tokens
    pairs = [pair("Yes", "more " * (most - 1), "1"), pair("No", "more " * most, "1"), *PAIRS]
    (finding,) = quality("--json", "-", "--model", small_reward, scorer=None, one=pairs[:3]).json["sets"][0]["findings"]
    assert (finding["check"], finding["level"], finding["records"]) == ("cut_texts", "note", [2])
    assert f"the {most} tokens of a text that the model reads: it judges by the beginning. 1 of 3" in finding["message"]
    assert quality("--json", "-", one=pairs).json["sets"][0]["findings"] == []  # length needs no model


def test_length_regressed_out_leaves_a_scorer_of_length_nothing(quality):
    """Texts of 20 words against 22 to 40; the better one is now the longer, now the shorter."""
    pairs = [
        pair(f"{HARBOUR} {number}", " ".join(["more"] * (2 + number % 9)), str(1 + number % 2)) for number in range(40)
    ]
    found = quality("--json", "-", one=pairs).json["length_regressed"]
    assert found["n"] == 40
    assert (found["explained"]["longer"], found["explained"]["shorter"]) == (1, 1)
    assert found["explained"]["first"] < 1
    assert 0.2 < found["accuracy"]["longer"]["value"] < 0.8  # a coin's
    assert set(found["accuracy"]) == {"shorter", "longer", "first", "compression", "type_token"}


def test_a_surface_model_learns_what_its_features_say(tmp_path):
    ornate, plain = "It was, somehow, truly, deeply, utterly lovely.", "It was lovely. She knew. He went."
    texts = [f"{name} came home. {tail}" for name in ("Ann", "Bo", "Cy", "Di") for tail in (plain, ornate)]
    pairs = [QualityPair(index, texts[index], texts[index + 1], 1) for index in range(0, 8, 2)]
    file = tmp_path / "pairs.json"
    records = [{"paragraph1": p.first, "paragraph2": p.second, "reference_preference": "1"} for p in pairs[:3]]
    file.write_text(json.dumps(records), encoding="utf-8")
    scorer = surface_scorer([file])
    assert scorer is not None
    assert scorer.margins(pairs[3:])[0] > 0
    assert scorer.margins([QualityPair(1, texts[7], texts[6], 2)])[0] == pytest.approx(-scorer.margins(pairs[3:])[0])


def test_neither_a_model_nor_a_scorer(quality, tmp_path):
    run = quality(scorer=None)
    assert "Name a reward model with --model, or a scorer with --scorer." in run.refusal
    run = quality("--model", tmp_path, scorer=None)
    assert "is not a reward model" in run.refusal
