"""The paper's own configuration, with a T5 and an MPNet of a few thousand weights, by the commands that a user runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pearl.records import Document, Request
from pearl.text.history.partition import DEV, TEST, TRAIN
from retriever.calibrated.artifact import CROSS_ENCODER, load_artifact, read_manifest
from retriever.models.cross_encoder import ALL_WORDS, CrossEncoderModel, PairReading
from training.config import ALL, AS_PUBLISHED, TrainingConfig, values_of
from training.data.selection import SelectionOptions
from training.gains.groups import select_from
from training.gains.scores import read_scores

ASKED = {
    "request": "wheel: item 41",
    "documents": [
        {"text": "the wheel is fine", "request": "wheel: item 1"},
        {"text": "mind the tide", "request": "tide: item 2"},
        {"text": "the kettle sings"},
    ],
}


@pytest.fixture
def history(writings, users_in, write_lines) -> Path:
    users = [user for split, n in ((TRAIN, 3), (DEV, 1), (TEST, 2)) for user in users_in(split, n)]
    made: Path = write_lines(writings(users, documents=15), "mine.jsonl")
    return made


@pytest.fixture
def tiny(history, seq2seq_folder, sentence_folder) -> dict[str, Any]:
    """Options that name the history and tiny models of the paper's kinds."""
    return {"history": history, "aux": seq2seq_folder, "encoder": sentence_folder}


@pytest.fixture
def base(mpnet_folder) -> str:
    return f"base={mpnet_folder}"


@pytest.fixture
def published(train, tiny, base, tmp_path) -> Path:
    """An artifact as published, trained by one command."""
    ran = train("retriever", **tiny, choose=[base, "preset=as_published", "epochs=1"], out=tmp_path / "model")
    assert (ran.status, ran.out) == (0, ""), ran.err
    load_artifact.cache_clear()
    return tmp_path / "model"


def test_one_command_from_a_history_to_the_papers_artifact(published, tiny, mpnet_folder):
    artifact = read_manifest(published)
    training = artifact.training
    given = {"epochs": 1, "aux": str(tiny["aux"]), "base": str(mpnet_folder), "max_tokens": 128}  # MPNet reads no more
    given |= {"encoder": str(tiny["encoder"])}
    assert training["config"] == values_of(TrainingConfig, AS_PUBLISHED) | given
    assert artifact.normalize == "sum"
    work = published.with_name("model.work")
    scored = read_scores(work / "mine-train.parquet")[1]["options"]
    expected = {"partition": "latest", "targets": 8, "candidates": None, "target_tokens": 400, "document_tokens": 400}
    expected |= {"request_tokens": ALL, "examples": 3}
    assert {name: scored[name] for name in expected} == expected  # type: ignore[index]
    groups = select_from([work / "mine-train.parquet"], SelectionOptions())
    assert (artifact.tau, artifact.y0) == (5.0, pytest.approx(groups.description["y0"], rel=1e-5))
    assert artifact.weight == 1.0
    assert artifact.reading == PairReading(128, ALL_WORDS, own_requests=False)
    assert training["relevance"] == {"steps": 0}  # no warm start
    assert training["requests"]["proxy"] == 0
    assert training["second_stage"]["groups"] == groups.description["groups"]
    assert artifact.figures["requests"] == 4
    _check_targets(read_scores(work / "mine-train.parquet")[0].to_pylist())


def _check_targets(rows: list[dict[str, Any]]) -> None:
    """Targets are the eight latest texts of each user, and the candidates of each are all texts before them."""
    found: dict[str, dict[int, set[int]]] = {}
    for row in rows:
        target, candidate = (int(row[name].rpartition("-")[2]) for name in ("request_id", "document_id"))
        found.setdefault(row["user_id"], {}).setdefault(target, set()).add(candidate)
    assert len(found) == 3
    for targets in found.values():
        assert targets == {place: set(range(7)) for place in range(7, 15)}


@pytest.mark.slow
def test_it_is_ranked_measured_and_refused_like_any_other(published, run_pearl, write_lines, tiny):
    """The cross-encoder alone says the score of every document, which it reads without its own request."""
    asked = {"input": write_lines([ASKED]), "output": "-"}
    ran = run_pearl("rank", f"PEARL_ENCODER={tiny['encoder']}", model=published, **asked)
    assert ran.status == 0
    documents = [Document(str(place), each["text"]) for place, each in enumerate(ASKED["documents"])]
    alone = CrossEncoderModel(published / CROSS_ENCODER, read_manifest(published).reading)
    assert ran.json["scores"] == pytest.approx(alone.logits(Request(ASKED["request"]), documents).tolist(), abs=1e-3)
    assert len(set(ran.json["scores"])) == 3

    gains = published.with_name("model.work") / "gains-test-mine.jsonl.gz"
    for command in ("retrieval", "calibration"):
        measured = {"gains": gains, "model": [published, "bm25"]}
        ran = run_pearl("eval", command, f"PEARL_ENCODER={tiny['encoder']}", **measured, json="-")
        assert ran.status == 0, ran.err
        assert [model["model"] for model in ran.json["models"]] == [str(published), "bm25"]

    (published / CROSS_ENCODER / "model.safetensors").unlink()
    load_artifact.cache_clear()
    ran = run_pearl("rank", model=published, **asked)
    assert ran.status == 2
    assert "its file 'cross-encoder/model.safetensors' is missing; copy the whole folder." in ran.err


@pytest.mark.slow
def test_step_by_step(train, tiny, base, mpnet_folder, tmp_path):
    """score, select and fit under the preset; fit records how the scores were made."""
    config, common = tmp_path / "config.toml", {"history": tiny["history"], "config": tmp_path / "config.toml"}
    config.write_text(f'preset = "as_published"\nencoder = "{tiny["encoder"]}"\nepochs = 2\n')
    for split in (TRAIN, DEV):
        ran = train("score", **common, aux=tiny["aux"], split=split, out=tmp_path / f"{split}.parquet")
        assert ran.status == 0, ran.err
    assert train("select", scores=tmp_path / "train.parquet", out=tmp_path / "groups.parquet").status == 0
    fitting = {"choose": [base, "y0=q3"], "groups": tmp_path / "groups.parquet"}
    scores = [tmp_path / "train.parquet", tmp_path / "dev.parquet"]
    ran = train("fit", **common, **fitting, scores=scores, out=tmp_path / "model")
    assert (ran.status, ran.out) == (0, ""), ran.err
    artifact = read_manifest(tmp_path / "model")
    given = {"epochs": 2, "y0": "q3", "aux": str(tiny["aux"]), "base": str(mpnet_folder), "max_tokens": 128}
    given |= {"encoder": str(tiny["encoder"])}
    assert artifact.training["config"] == values_of(TrainingConfig, AS_PUBLISHED) | given
    assert artifact.weight == 1.0


def test_single_choices_without_the_preset_and_an_adapter(
    train, run_pearl, write_lines, tiny, base, tmp_path, monkeypatch
):
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    choose = [base, "weight=0.5", "frozen_layers=2", "rate=1e-3", "proxies=4", "max_tokens=64", "request_words=9"]
    choose += ["epochs=1", "warm_start=no", "candidates=5"]
    ran = train("retriever", **tiny, choose=[*choose, "tau=7", "y0=3.5"], out=tmp_path / "model")
    assert (ran.status, ran.out) == (0, ""), ran.err
    artifact = read_manifest(tmp_path / "model")
    assert (artifact.tau, artifact.y0, artifact.weight, artifact.max_tokens) == (7.0, 3.5, 0.5, 64)
    assert artifact.reading == PairReading(64, 9)
    assert artifact.training["config"]["preset"] == "corrected"
    assert artifact.training["config"]["rate"] == 1e-3
    assert artifact.training["requests"]["proxy"] == 3 * 4
    asked = {"input": write_lines([ASKED]), "output": "-"}
    ran = run_pearl("rank", f"PEARL_ENCODER={tiny['encoder']}", model=tmp_path / "model", **asked)
    assert ran.status == 0, ran.err
    assert len(set(ran.json["scores"])) == 3
