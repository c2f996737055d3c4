"""A person who trains on their own history: each step with the real command, on what the step before wrote."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from retriever.calibrated.artifact import read_manifest
from training.gains.scores import read_scores

DOCUMENTS = 40
LEARNED, CHOSEN = 24, 32  # places where the texts to choose by, and to measure with, begin


@pytest.fixture
def alone(writings, write_lines, causal_folder, sentence_folder) -> dict[str, Any]:
    """Options of a training on one user's history."""
    return {
        "history": write_lines(writings(["ann"], documents=DOCUMENTS), "mine.jsonl"),
        "aux": causal_folder,
        "encoder": sentence_folder,
        "choose": ["candidates=5", "first_stage_only=yes"],
    }


def place(id: str) -> int:
    return int(id.removeprefix("ann-"))


def requests_in(scores: Path) -> set[int]:
    return {place(id) for id in read_scores(scores)[0]["request_id"].to_pylist()}


def test_one_user_trains_measures_fits_again_and_ranks(train, run_pearl, write_lines, alone, tmp_path):
    ran = train("retriever", **alone, out=tmp_path / "model")
    assert (ran.status, ran.out) == (0, "")
    artifact, work = read_manifest(tmp_path / "model"), tmp_path / "model.work"
    steps = ["scoring mine-train", "scoring mine-dev", "signals", "scoring mine-test"]
    assert sorted(steps, key=ran.err.index) == steps  # what is measured with is scored when the artifact is there
    assert "Note: too few users for a split by users (1), so each history is split by time" in ran.err
    assert artifact.training["notes"][0].startswith("too few users for a split by users (1)")
    assert artifact.training["split"] == {"by": "time", "learned": "train", "asked": "dev"}
    assert "; on later texts of the same users: top1_gain " in ran.err
    assert "on users held back" not in ran.err

    learned, chosen, tested = (requests_in(work / f"mine-{split}.parquet") for split in ("train", "dev", "test"))
    assert max(learned) < LEARNED <= min(chosen) <= max(chosen) < CHOSEN <= min(tested)
    assert len(learned) > 3  # which is what a user among many has
    assert artifact.figures["requests"] == len(tested) == artifact.training["test_requests"]
    for line in gzip.decompress((work / "gains-test-mine.jsonl.gz").read_bytes()).splitlines():
        record = json.loads(line)
        assert all(place(document["id"]) < place(record["id"]) for document in record["documents"])

    assert artifact.do_not_use[0] == f"{len(chosen)} scored requests to choose by, fewer than 30"
    assert f"Do not use this artifact: {artifact.do_not_use[0]}" in ran.err
    assert artifact.training["worth"]["requests"] == len(chosen)

    signals = [f"encoder={alone['encoder']}", "first_stage_only=yes"]
    again = train("fit", history=alone["history"], choose=signals, work=work, out=tmp_path / "again")
    assert again.status == 0
    fitted = read_manifest(tmp_path / "again")
    assert fitted.training["split"] == artifact.training["split"]
    assert (fitted.y0, fitted.tau, fitted.do_not_use[0]) == (artifact.y0, artifact.tau, artifact.do_not_use[0])

    line = {"request": "wheel: item 41", "documents": [{"text": "the wheel is fine"}, {"text": "mind the tide"}]}
    ranked = run_pearl(
        "rank", f"PEARL_ENCODER={alone['encoder']}", model=tmp_path / "model", input=write_lines([line]), output="-"
    )
    assert ranked.status == 0
    assert ranked.err.startswith("Do not use this artifact: ")


def test_a_history_without_requests_says_what_is_missing(train, writings, write_lines, alone, tmp_path):
    lines = [line | {"request": None} for line in writings(["ann"], documents=12)]
    options = alone | {"history": write_lines(lines, "bare.jsonl")}
    ran = train("retriever", **options, out=tmp_path / "model")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(
        "pearl: --history: none of 12 documents has the request that it answered; make requests with "
        "'pearl train requests' first.\n"
    )
    options = {name: options[name] for name in ("history", "aux")}
    ran = train("score", **options, out=tmp_path / "scores.parquet")
    assert ran.status == 2
    assert "nothing to score (none of 12 documents has a request: make them with 'pearl train requests')" in ran.err
    assert not (tmp_path / "scores.parquet").exists()


def test_the_steps_one_by_one_on_what_the_step_before_wrote(train, run_pearl, write_lines, alone, tmp_path):
    """score, select, fit on the groups that were selected, and rank."""
    work, groups = tmp_path / "work", tmp_path / "groups.parquet"
    scored = {name: alone[name] for name in ("history", "aux")}
    scored["choose"] = ["candidates=5", "partition=rolling", "targets=12"]
    found = []
    for split in ("train", "dev", "test"):
        out = work / f"mine-{split}.parquet"
        ran = train("score", **scored, split=split, out=out)
        assert ran.status == 0
        assert f"Too few users for a split by users (1): '{split}' are the texts between" in ran.err
        assert f" of 1 user in {out}\n" in ran.err
        found.append(requests_in(out))
    learned, chosen, tested = found
    assert max(learned) < LEARNED <= min(chosen) <= max(chosen) < CHOSEN <= min(tested)
    options = {"share": 0.5, "positives": 1, "negatives": 2, "normalize": "mean"}
    told = [f"{name}={value}" for name, value in options.items()]
    ran = train("select", scores=work / "mine-train.parquet", out=groups, json="-", choose=told)
    assert ran.status == 0
    assert "requests of 1 user in" in ran.err
    selected = json.loads(ran.out)
    assert selected["groups"] == selected["requests_kept"] == 6

    fitting = {"history": alone["history"], "work": work}
    signals = [f"encoder={alone['encoder']}", "first_stage_only=yes"]
    ran = train("fit", **fitting, groups=groups, choose=signals, out=tmp_path / "model")
    assert (ran.status, ran.out) == (0, "")
    artifact = read_manifest(tmp_path / "model")
    assert artifact.normalize == "mean"
    assert artifact.training["config"].items() >= options.items()
    quartiles = [selected["y0_quartiles"][0], selected["y0"], selected["y0_quartiles"][1]]
    assert any(artifact.y0 == pytest.approx(y0, rel=1e-5) for y0 in quartiles)

    line = {"request": "wheel: item 41", "documents": [{"text": "the wheel is fine"}, {"text": "mind the tide"}]}
    own = f"PEARL_ENCODER={alone['encoder']}"
    assert run_pearl("rank", own, model=tmp_path / "model", input=write_lines([line]), output="-").status == 0

    for choice, said in (
        ("share=1", "pearl: --choose share: is what --groups was selected with"),
        ("loss=distill", "pearl: --groups: loss=distill learns from all requests"),
    ):
        ran = train("fit", **fitting, groups=groups, choose=[*signals, choice], out=tmp_path / "other")
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err
    assert not (tmp_path / "other").exists()
