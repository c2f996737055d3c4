"""``pearl train reward``, on an encoder that the test makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from retriever.reward.model import RewardModel
from tests.training.reward.conftest import versions


@pytest.fixture
def reward(train, scored_file, bert_folder) -> Callable[..., Any]:
    """`pearl train reward` on a tiny encoder, with options and choices by name."""

    def run(*choose: str, **options: Any) -> Any:
        made = [] if any(choice.startswith("base=") for choice in choose) else [f"base={bert_folder}"]
        chosen = [*made, "dev_share=0.25", *choose]
        return train("reward", **{"data": scored_file(12), "json": "-"} | options, choose=chosen)

    return run


def test_all_variants_and_presets(reward, tmp_path):
    plain, ornate = versions(1)
    for variant, preset, more in (
        ("PR", "corrected", ["epochs=30"]),
        ("P", "corrected", ["epochs=30", "layers=last"]),
        ("P", "as_published_code", ["epochs=1"]),
        ("PR", "as_published_paper", ["epochs=1", "max_tokens=96"]),
        ("R", "as_published_code", ["epochs=1"]),
    ):
        out = tmp_path / f"{variant}-{preset}"
        result = reward(f"preset={preset}", *more, variant=variant, out=out)
        assert result.status == 0, result.err
        written = result.json
        assert (written["variant"], written["preset"]) == (variant, preset)
        assert written["pairs"] == ("cosine" if "P" in variant and preset != "corrected" else "scores")
        model = RewardModel.load(out)
        assert model.artifact.figures == written["figures"]
        assert model.artifact.files == written["files"]
        assert model.artifact.figures["dev_pairs" if "P" in variant else "dev_scored"] == (3 if "P" in variant else 6)
        assert len(model.prefer([plain], [ornate])) == 1
        if preset == "corrected":
            assert model.prefer([plain], [ornate])[0] > 0
            assert written["training"]["config"]["weight"] == 0.125
        if variant != "P" or preset == "corrected":
            assert ((scores := model.score([plain, ornate])) >= 1).all()
            assert (scores <= 10).all()


class KilledError(BaseException):
    """The end of the process: no handler of ours sees it."""


def test_a_training_killed_at_its_last_step_goes_on_and_has_its_figures(reward, tmp_path, monkeypatch):
    def killed(*_: Any) -> None:
        raise KilledError

    out, work = tmp_path / "model", tmp_path / "work"
    with monkeypatch.context() as patched:
        patched.setattr(RewardModel, "prefer", killed)
        with pytest.raises(KilledError):
            reward("epochs=3", out=out, work=work)
    assert not out.exists()
    resumed = reward("epochs=3", out=out, work=work).json
    assert resumed["training"]["resumed_from"] == resumed["training"]["epochs"] == 3
    assert {"dev_accuracy", "dev_pearson_r"} <= resumed["figures"].keys()
    assert not list(work.glob("*checkpoint*"))


def test_a_verdict_that_depends_on_the_order_alone_is_right_half_the_time(reward, tmp_path):
    """A pair's texts are so alike to an encoder which has learned nothing that their cosine prefers whichever is
    first."""
    out = tmp_path / "model"
    figures = reward("preset=as_published_code", "epochs=1", "rate=1e-8", variant="P", out=out).json["figures"]
    plain, ornate = versions(1)
    assert (RewardModel.load(out).prefer([plain, ornate], [ornate, plain]) > 0).all()
    assert (figures["dev_pairs"], figures["dev_accuracy"]["value"]) == (3, 0.5)


def test_a_model_below_a_trivial_rule_on_pairs_of_another_kind_may_not_ship(reward, tmp_path):
    """Its data teach that the plain version is the better one. Of the other kinds it is better, too; or the longer
    text, here the ornate one, is; or nobody asked."""
    texts = [versions(number) for number in range(30, 36)]
    assert all(len(plain) < len(ornate) for plain, ornate in texts)
    ornate_shorter = [(f"{plain} {plain}", ornate) for plain, ornate in texts]
    files = {
        "plain": _pairs_file(tmp_path / "plain.jsonl", ornate_shorter),
        "ornate": _pairs_file(tmp_path / "ornate.jsonl", [(ornate, plain) for plain, ornate in texts]),
    }
    for named, fits in ((("plain",), True), (("plain", "ornate"), False), ((), False)):
        out = tmp_path / f"model-{len(named)}"
        result = reward("epochs=30", other_kind=[files[name] for name in named], out=out)
        assert result.json["may_ship"] is RewardModel.load(out).artifact.may_ship is fits
        assert ("Not marked as fit to ship: " in result.err) is not fits
        kinds = {kind["file"]: kind for kind in result.json["figures"]["other_kinds"]}
        assert [kind["passes"] for kind in kinds.values()] == [name == "plain" for name in named]
    both = reward("epochs=30", other_kind=files["ornate"], out=tmp_path / "m")
    assert "ornate.jsonl: decides 0.000 of 6 pairs, where 'longer' decides 1.000." in both.err
    (kind,) = both.json["figures"]["other_kinds"]
    assert kind["all_pairs"]["baselines"] == {"shorter": 0.0, "longer": 1.0, "first": 0.5}


def test_what_it_is_held_against_is_not_learned_from(reward, tmp_path):
    other = _pairs_file(tmp_path / "other.jsonl", [versions(number) for number in (0, 1)])
    trained = reward("epochs=1", other_kind=other, out=tmp_path / "m").json
    assert trained["training"]["scores"] == 20
    assert "left out: 4 records whose paragraph stands in --test or --other-kind" in trained["training"]["notes"][0]


def _pairs_file(path: Path, pairs: list[tuple[str, str]]) -> Path:
    """Pairs of a better and a worse text, the better one first and second in turn."""
    rows = [
        {"paragraph1": better, "paragraph2": worse, "reference_preference": "1"}
        if place % 2
        else {"paragraph1": worse, "paragraph2": better, "reference_preference": "2"}
        for place, (better, worse) in enumerate(pairs)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--variant Q", "--variant Q: there are P, R, PR."),
        ("--choose preset=paper", "--choose preset=paper: there are corrected, as_published_code, "),
        ("--choose pair_rule=cosine", "has no weights but the encoder's: it needs --choose fitted=all."),
        ("--choose layers=0,9", "--choose layers=0,9: name 'last', or different numbers from 0 to 1"),
        ("--choose layers=first", "--choose layers=first: name 'last', or different numbers from 0 to 1"),
        ("--choose device=tpu", "device tpu: there are cpu, cuda, and cuda:1 for a second GPU."),
        ("--choose base=nowhere/at-all", "The base 'nowhere/at-all' cannot be loaded"),
        ("--choose base={t5}", "The base '{t5}' has a decoder behind its encoder (t5); name a model without one"),
        ("--other-kind {scored}", "{scored}: holds no pair"),
    ],
)
def test_what_cannot_be_trained(reward, scored_file, seq2seq_folder, tmp_path, options, said, monkeypatch):
    """It is refused before anything is trained."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    there = {"t5": seq2seq_folder, "scored": scored_file(4, "other.jsonl")}
    option, value = options.format(**there).removeprefix("--").split()
    choose, named = ([value], {}) if option == "choose" else ([], {option.replace("-", "_"): value})
    result = reward(*choose, **named, out=tmp_path / "out")
    assert (result.status, result.out) == (2, "")
    assert said.format(**there) in result.err
    assert not list(tmp_path.glob("out*"))


OF_TWO_HUB_MODELS = """
import sys
from pathlib import Path
from rich.console import Console
from retriever.models.files import source_digest
from training.reward.reading import kept_vectors

names = ("org/one", "org/two")
one, two = (kept_vectors(name, ["the wheel"], (0, 1), 64, Path(sys.argv[1]), Console(quiet=True)) for name in names)
assert (one != two).any()
assert list(map(source_digest, names)) == ["a" * 40, "b" * 40]
"""


@pytest.mark.slow
def test_vectors_of_one_hub_model_are_not_taken_for_anothers(bert_folder, tmp_path):
    """They are known by their commits, in a cache like the hub's."""
    for name, commit in (("one", "a" * 40), ("two", "b" * 40)):
        model = tmp_path / "hub" / f"models--org--{name}"
        shutil.copytree(bert_folder, model / "snapshots" / commit)
        (model / "refs").mkdir()
        (model / "refs" / "main").write_text(commit)
    weights = model / "snapshots" / commit / "model.safetensors"
    save_file({key: 2 * values for key, values in load_file(weights).items()}, weights, {"format": "pt"})
    (tmp_path / "work").mkdir()
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", OF_TWO_HUB_MODELS, str(tmp_path / "work")]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
