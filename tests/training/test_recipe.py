"""The whole training on made-up histories with models of a few thousand weights."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pearl.clock import Budget
from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.history.partition import DEV, TEST, TRAIN
from retriever.calibrated.artifact import CROSS_ENCODER, Artifact, artifact_retriever, load_artifact, read_manifest
from retriever.models.encoder import SentenceEncoder
from training.choose.measure import LEAST_REQUESTS
from training.recipe import fit_retriever, train_retriever
from training.run import TrainingOptions, TrainingPlan

PLANS = {TRAIN: TrainingPlan(2, None, 4), DEV: TrainingPlan(2, None, 4), TEST: TrainingPlan(1, None, 4)}
DOCUMENTS = [Document("a", "the wheel is fine", 1.0, "wheel: item 1"), Document("b", "mind the tide", 2.0)]


@pytest.fixture
def options(tmp_path, causal_folder, sentence_folder, bert_folder) -> Callable[..., TrainingOptions]:
    def make(*histories: Path, **changed: Any) -> TrainingOptions:
        known: dict[str, Any] = {
            "histories": histories,
            "out": tmp_path / "model",
            "work": tmp_path / "work",
            "aux": str(causal_folder),
            "encoder": str(sentence_folder),
            "candidates": 4,
            "proxies": 3,
            "first_stage_only": True,
            "plans": PLANS,
            "targets": PLANS[TRAIN].targets,
        } | changed
        if not known["first_stage_only"]:
            known.setdefault("base", str(bert_folder))
        return TrainingOptions(**known)

    return make


@pytest.fixture
def history(writings, users_in, write_lines) -> Callable[..., Path]:
    """A history of so many users of each split."""

    def make(train: int = 0, dev: int = 0, test: int = 0, name: str = "mine.jsonl", **options: Any) -> Path:
        users = [user for split, n in ((TRAIN, train), (DEV, dev), (TEST, test)) for user in users_in(split, n)]
        return write_lines(writings(users, **options), name)

    return make


def run(options: TrainingOptions, how: Any = train_retriever) -> tuple[Any, str]:
    said = StringIO()
    return how(options, Console(file=said, width=500)), said.getvalue()


def scores_of(options: TrainingOptions) -> Any:
    load_artifact.cache_clear()
    retriever = artifact_retriever(options.out, SentenceEncoder(options.encoder))
    return retriever.index(DOCUMENTS).scores(Request("wheel: item 3", 3.0))


def test_from_histories_to_an_artifact_and_again(options, history):
    """With a cross-encoder; the second run computes nothing that the first did, and fit uses what it left."""
    wanted = options(history(train=3, dev=1, test=1, documents=10), first_stage_only=False)
    artifact, _ = run(wanted)
    assert artifact.training["requests"] == {"train": 6, "dev": 2, "proxy": 9}
    assert artifact.training["test_requests"] == 1
    assert artifact.training["notes"] == []
    assert artifact.training["relevance"]["steps"] >= 1
    assert artifact.training["histories"][0]["file"] == "mine.jsonl"
    scored = artifact.training["scored"]["mine"]
    least = {split: (extent["targets"], extent["least_candidates"]) for split, extent in scored.items()}
    assert least == {split: (plan.targets, plan.least) for split, plan in PLANS.items()}
    assert {"dev_losses", "weights", "alone"} <= artifact.training["second_stage"].keys()
    assert (artifact.threshold, artifact.figures) == (None, {})
    assert (wanted.out / CROSS_ENCODER).is_dir() == (artifact.weight > 0)
    scores = scores_of(wanted)
    assert np.isfinite(scores).all()
    gains = gzip.decompress((wanted.work / "gains-test-mine.jsonl.gz").read_bytes()).splitlines()
    assert len(json.loads(gains[0])["gain"]) == 4
    assert not list(wanted.out.parent.glob(".model.*"))

    before = {path: path.stat().st_mtime_ns for path in wanted.work.rglob("*") if path.suffix in (".npz", ".parquet")}
    assert len(before) > 5
    kept, _ = run(replace(wanted, keep_cross_encoder=True, out=wanted.out.with_name("kept")), fit_retriever)
    assert kept.weight > 0
    assert (wanted.out.with_name("kept") / CROSS_ENCODER).is_dir()
    without = replace(wanted, first_stage_only=True, base="embedded")
    again, _ = run(without)
    after = {path: path.stat().st_mtime_ns for path in wanted.work.rglob("*") if path.suffix in (".npz", ".parquet")}
    merged = {path for path in before if path.parent == wanted.work}  # they are put together from the parts again
    assert after.keys() == before.keys()
    assert all(after[path] == before[path] for path in before.keys() - merged)
    assert (again.y0, again.tau) == (artifact.y0, artifact.tau)
    assert not (wanted.out / CROSS_ENCODER).exists()  # of the first artifact nothing stays

    other = replace(without, out=wanted.out.with_name("fitted"), aux="embedded", template="commit")
    same, _ = run(other, fit_retriever)
    for said in ("auxiliary", "template"):  # what the scores were made with
        assert same.training[said] == artifact.training[said] != {"auxiliary": "embedded", "template": "commit"}[said]
    assert (same.y0, same.tau, same.training["dev"]) == (again.y0, again.tau, again.training["dev"])
    assert scores_of(replace(wanted, out=wanted.out.with_name("fitted"))).tolist() == scores_of(wanted).tolist()


def test_domains_of_different_templates_are_fitted_together(options, history, tmp_path):
    one, other = history(train=2, dev=1, test=1, documents=9), history(train=1, dev=2, test=1, name="b.jsonl")
    wanted = options(one)
    run(replace(wanted, template="commit"))
    run(replace(wanted, histories=(other,), template="comment", out=tmp_path / "other"))
    artifact, _ = run(replace(wanted, histories=(one, other)), fit_retriever)
    assert artifact.training["template"] == "comment, commit"
    mine, theirs = artifact.training["histories"]
    assert (mine["domain"], mine["template"]) == ("mine", "commit")
    assert (theirs["domain"], theirs["template"]) == ("b", "comment")
    assert mine["requests"] == {"train": 4, "dev": 2, "proxy": 6}
    assert theirs["requests"] == {"train": 2, "dev": 4, "proxy": 3}
    gains = [own["dev"]["top1_gain"] * own["requests"]["dev"] / 6 for own in (mine, theirs)]
    assert sum(gains) == pytest.approx(artifact.training["dev"]["top1_gain"], rel=1e-4)
    assert set(artifact.training["proxy_scales"]) == {"mine", "b"}


def test_histories_may_have_long_names(options, history):
    """Together longer than a file system takes."""
    names = [f"{letter * 130}.jsonl" for letter in "ab"]
    wanted = options(*(history(train=2, dev=1, documents=9, name=name) for name in names), first_stage_only=False)
    artifact, _ = run(wanted)
    assert artifact.training["relevance"]["steps"] >= 1


@pytest.mark.parametrize(
    "users", [{"train": 1}, {"dev": 1}, {"test": 1}, {"dev": 1, "test": 1}, {"train": 2, "dev": 1}]
)
def test_histories_of_few_users_are_split_by_time(options, history, users):
    wanted = options(history(**users, documents=16))
    artifact, said = run(wanted)
    number = sum(users.values())
    assert f"Note: too few users for a split by users ({number}), so each history is split by time" in said
    assert artifact.training["split"] == {"by": "time", "learned": "train", "asked": "dev"}
    assert artifact.training["test_requests"] >= number
    assert len(artifact.training["notes"]) == said.count("Note: ") == 1
    assert np.isfinite(scores_of(wanted)).all()


def test_where_no_later_text_is_left_to_choose_by(options, history):
    """Six texts: the fifth is trained on, and the sixth measured with."""
    wanted = options(history(train=1, documents=6))
    artifact, said = run(wanted)
    assert "Note: no later text is left to choose by: y0, tau and early stopping were chosen on the same texts" in said
    assert artifact.do_not_use[0] == "nothing was left to choose by but what it was trained on"
    assert artifact.training["level"] is None  # which always seems right of what it learned from


def test_without_timestamps_it_says_that_it_chose_at_random(options, history):
    wanted = options(history(train=2, dev=1, documents=9, timed=False))
    artifact, said = run(wanted)
    assert "Note: 3 users of 'mine' have a document without a timestamp" in said
    assert artifact.training["requests"]["proxy"] == 0
    assert np.isfinite(scores_of(wanted)).all()


def test_two_histories_are_learned_from_together(options, history, tmp_path):
    one, other = history(train=1, dev=1, documents=9), history(train=1, test=1, documents=9, name="yours.jsonl.gz")
    artifact, said = run(options(one, other))
    assert "Note: 'yours' (2 users) has no scored request to choose by, so its figures are unknown." in said
    assert artifact.training["histories"][1]["dev"] is None
    assert artifact.training["requests"]["train"] == 4
    assert [each["file"] for each in artifact.training["histories"]] == ["mine.jsonl", "yours.jsonl.gz"]
    assert not (tmp_path / "work" / "gains-dev-yours.jsonl.gz").exists()  # an empty one would be read by nobody


def test_what_cannot_be_learned_from(options, history, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("Dear Ann,")
    few, enough = history(train=2, dev=1, test=1, documents=4), history(train=1, documents=9, name="b.jsonl")
    whole = partial(options, enough, first_stage_only=False)
    for wanted, said in (
        (options(few), "no user has enough documents"),
        (options(enough, enough), "two files are named 'b'"),
        (options(enough, out=tmp_path / "letters"), "holds something else than an artifact"),
        (whole(base=str(tmp_path)), f"The base '{tmp_path}' cannot be loaded"),
        (options(enough, encoder=str(tmp_path)), "The encoder"),
        (whole(frozen_layers=9), "--choose frozen_layers=9: the base"),
        (options(enough, loss="relevance"), "loss=relevance fits what first_stage_only=yes leaves out"),
        (options(enough, aux=str(tmp_path)), "The auxiliary model"),
        (options(enough, device="cuda:99"), "no such GPU"),
        (options(enough, template="poem"), "poem"),
        (options(tmp_path / "none.jsonl"), "none.jsonl: cannot be read"),
    ):
        with pytest.raises(InputError) as caught:
            run(wanted)
        assert said in caught.value.message
        assert not (tmp_path / "model").exists()
    assert (tmp_path / "letters" / "mine.txt").exists()


def test_when_the_time_is_over_the_first_stage_ships_alone(options, history):
    """The scores are there already, so that only the fitting is left."""
    wanted = options(history(train=2, dev=1, documents=9))
    run(wanted)
    artifact, said = run(replace(wanted, first_stage_only=False, budget_minutes=0.001))
    assert "Note: the budget ended before the cross-encoder: the first stage alone" in said
    assert artifact.training["second_stage"] is None
    assert np.isfinite(scores_of(wanted)).all()
    alone = replace(wanted, first_stage_only=False, budget_minutes=0.001, weight=1.0, out=wanted.out.with_name("alone"))
    with pytest.raises(
        InputError, match=r"ran out before the cross-encoder, which is all there is with --choose weight=1"
    ):
        run(alone)
    assert not alone.out.exists()


@pytest.mark.parametrize("users", [{"train": 3, "dev": 3, "test": 3}, {"train": 1}], ids=["many", "one"])
def test_however_small_the_budget_the_first_requests_are_scored(options, history, users):
    """An artifact that says not to use it says more than an error."""
    wanted = options(history(**users), budget_minutes=1e-9, first_stage_only=False)
    artifact, said = run(wanted)
    assert artifact.training["requests"]["train"] > 0
    assert artifact.training["requests"]["dev"] > 0
    assert artifact.training["test_requests"] == 0
    assert artifact.training["split"]["asked"] == artifact.training["split"]["learned"]
    assert artifact.do_not_use[0] == "nothing was left to choose by but what it was trained on"
    assert artifact.do_not_use[1].endswith(f"to choose by, fewer than {LEAST_REQUESTS}")
    assert said.startswith("Too little history: ")  # before the work
    assert "\nscoring mine-train 0/" in said  # off a terminal, too
    assert len(artifact.training["heads"]) == 1
    assert "Note: the budget ended before every tau and y0 was tried: 1 were" in said
    assert "Note: the budget ended before the cross-encoder: the first stage alone" in said
    assert "Note: the budget ended before a request was scored to measure with: there are no figures" in said
    assert np.isfinite(scores_of(wanted)).all()


def test_when_the_time_is_over_nothing_is_scored_to_measure_with(options, history):
    wanted = options(history(train=2, dev=1, test=1, documents=9))
    run(wanted)
    assert read_manifest(wanted.out).training["test_requests"] == 1
    for left in wanted.work.glob("*-test*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    artifact, said = run(replace(wanted, budget_minutes=0.001))
    note = "the budget ended before a request was scored to measure with: there are no figures"
    assert f"Note: {note}" in said
    assert (artifact.training["notes"][-1], artifact.training["test_requests"]) == (note, 0)
    assert not list(wanted.work.glob("gains-test-*"))


def test_a_share_of_the_budget_is_left_to_measure_in(train, options, history, monkeypatch):
    """Test requests are scored last, and drafts are written last where a chat model chooses theta."""
    shares: list[float] = []
    left = Budget.left

    def noted(budget: Budget, share: float) -> Callable[[], float]:
        shares.append(share)
        return left(budget, share)

    monkeypatch.setattr(Budget, "left", noted)
    wanted = options(history(train=2, dev=1, test=1, documents=15), budget_minutes=50.0)
    run(wanted)
    assert shares[-1] == max(shares) == 0.95
    minutes: list[float] = []
    for name in ("with_margin", "with_threshold"):
        monkeypatch.setattr(f"training.finish.{name}", lambda *told: minutes.append(told[-1]))
    monkeypatch.setattr("training.finish.measured", lambda told, *more: read_manifest(told.out))
    named = {name: getattr(wanted, name) for name in ("aux", "encoder", "out", "work")}
    named["choose"] = ["candidates=4", "proxies=3", "first_stage_only=yes"]
    told = named | {"history": wanted.histories[0], "llm": "embedded"}
    whole = 5000  # of which a busy machine does not use a twentieth before
    assert train("retriever", **told | {"out": wanted.out, "work": wanted.work / "2"}, budget_minutes=whole).status == 0
    assert minutes[0] <= 0.9 * whole
    assert 0.9 * whole < minutes[1] <= 0.95 * whole


def test_an_interruption_leaves_the_artifact_that_was_there(options, history, tmp_path, bert_folder):
    """The cross-encoder's base breaks after the first stage: what an interruption there comes to."""
    wanted = options(history(train=2, dev=1, documents=9))
    run(wanted)
    before, scores = read_manifest(wanted.out), scores_of(wanted)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text((bert_folder / "config.json").read_text())
    with pytest.raises(OSError, match="broken"):
        run(replace(wanted, base=str(tmp_path / "broken"), first_stage_only=False, seed=0))
    assert read_manifest(wanted.out) == before
    assert scores_of(wanted).tolist() == scores.tolist()


def test_options_that_cannot_be(train, write_lines, writings, tmp_path):
    history = write_lines(writings(["ann"], documents=3))
    for changed, said in (
        ({"choose": "metric=bleu"}, "--metric bleu: there are rouge2, rouge1, bertscore, macro_f1."),
        ({"choose": "metric=gain"}, "--metric gain: there are rouge2, "),
        ({"choose": "candidates=2"}, "--choose candidates=2: give at least 3, or all."),
        ({"budget_minutes": 0}, "budget-minutes"),
        ({"choose": f"seed={2**32}"}, "there are whole numbers from 0 to 4294967295."),
        ({"llm": "gpt-4o"}, "--llm 'gpt-4o'"),
        ({"work": tmp_path / "model" / "work"}, "which is replaced"),
    ):
        ran = train("retriever", **({"history": history, "out": tmp_path / "model"} | changed))
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err
        assert "Traceback" not in ran.err


def test_where_theta_cannot_be_chosen_the_artifact_is_measured_all_the_same(
    train, writings, users_in, write_lines, causal_folder, sentence_folder, tmp_path, judge_endpoint
):
    """The endpoint has no such model; the users are split by their ids."""
    judge_endpoint.refuses = lambda number: (404, {})
    users = [*users_in(TRAIN, 2), *users_in(DEV, 1), *users_in(TEST, 2)]
    models = {"aux": causal_folder, "encoder": sentence_folder, "choose": ["candidates=5", "first_stage_only=yes"]}
    history = write_lines(writings(users, documents=15))
    ran = train("retriever", history=history, out=tmp_path / "model", llm="openai", **models, json="-")
    assert ran.status == 1
    assert " The artifact is whole, but without what 'pearl eval generation' measures.\n" in ran.err
    artifact = read_manifest(tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "artifact.json").read_text(encoding="utf-8"))
    assert json.loads(ran.out) == {"model": str(tmp_path / "model"), **manifest}
    assert artifact.threshold is None
    assert artifact.figures["requests"] == 4
    assert {"value", "low", "high"} == artifact.figures["top1_gain"].keys()
    assert artifact.inherited() in ran.err
    load_artifact.cache_clear()
    retriever = artifact_retriever(tmp_path / "model", SentenceEncoder(str(sentence_folder)))
    assert np.isfinite(retriever.index(DOCUMENTS).scores(Request("wheel"))).all()


def test_what_the_chat_model_lacks_shows_before_the_training(train, write_lines, writings, tmp_path, monkeypatch):
    monkeypatch.delenv("PEARL_LLM_MODEL", raising=False)
    ran = train("retriever", history=tmp_path / "none.jsonl", out=tmp_path / "model", llm="openai")
    assert (ran.status, ran.err) == (2, "pearl: PEARL_LLM_MODEL is not set: name the endpoint's model.\n")


def test_a_mistyped_folder_of_scores_is_not_made(options, history, tmp_path):
    (tmp_path / "other").mkdir()
    for name in ("typo", "other"):
        with pytest.raises(InputError, match=f"{name}: holds no scores of 'mine' and its split 'train'; run 'pearl"):
            run(options(history(train=1, documents=9), work=tmp_path / name), fit_retriever)
    assert not (tmp_path / "typo").exists()
    assert not (tmp_path / "other" / "embeddings").exists()


def selection_of(artifact: Artifact) -> dict[str, Any]:
    return {name: artifact.training["config"][name] for name in ("share", "positives", "negatives")}


def test_fit_selects_as_it_is_told(train, options, history, tmp_path):
    wanted = options(history(train=3, dev=1, documents=9))
    run(wanted)
    common = {"history": wanted.histories[0], "work": wanted.work}
    signals = [f"encoder={wanted.encoder}", "first_stage_only=yes"]
    found = {}
    for name, told in (
        ("default", []),
        ("same", [f"share={2 / 3}", "positives=2", "negatives=3"]),
        ("other", ["share=1", "positives=1", "negatives=2"]),
    ):
        assert train("fit", **common, out=tmp_path / name, choose=[*signals, *told]).status == 0
        found[name] = read_manifest(tmp_path / name)
    default, same, other = found.values()
    assert selection_of(default) == {"share": 2 / 3, "positives": 2, "negatives": 3}
    assert (same.y0, same.tau, same.files) == (default.y0, default.tau, default.files)
    assert selection_of(other) == {"share": 1.0, "positives": 1, "negatives": 2}
    assert other.files != default.files
    ran = train("fit", **common, out=tmp_path / "none", choose=[*signals, "positives=9"])
    assert ran.status == 2
    assert "take fewer positives" in ran.err


def test_an_artifact_says_what_its_run_had_otherwise_than_the_preset(train, options, history, bert_folder, tmp_path):
    """Also what its loss leaves no choice of: distill learns from all requests, RelevanceCE reads texts alone."""
    wanted = options(history(train=3, dev=1, documents=9))
    run(wanted)
    common = {"history": wanted.histories[0], "work": wanted.work}
    encoder, signals = f"encoder={wanted.encoder}", "first_stage_only=yes"
    found = {}
    for name, told in (
        ("signals", [signals, "share=1", "tau=20"]),
        ("kl", [signals, "loss=kl", "share=1"]),
        ("distill", [signals, "loss=distill"]),
        ("relevance", ["loss=relevance", f"base={bert_folder}"]),
    ):
        assert train("fit", **common, out=tmp_path / name, choose=[encoder, *told]).status == 0
        found[name] = read_manifest(tmp_path / name)
    scored = {"aux": wanted.aux, "candidates": 4, "targets": 30}
    signals, kl, distill, relevance = (own.training["changed"] for own in found.values())
    assert signals == scored | {"first_stage_only": True, "share": 1.0, "tau": 20.0}
    assert distill == scored | {"first_stage_only": True, "share": 1.0, "loss": "distill"}
    assert found["distill"].files == found["kl"].files
    assert kl == distill | {"loss": "kl"}
    assert relevance == scored | {"loss": "relevance", "base": str(bert_folder), "own_requests": False, "weight": 1.0}
    assert found["relevance"].reading.own_requests is False
