"""``pearl train level``: an artifact learns from other texts how much what it chooses helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from pearl.history.split import DEV, TEST, TRAIN
from pearl.records import Document, Request
from pearl.theta import EVERYTHING
from retriever.calibrated.artifact import CROSS_ENCODER, MANIFEST, SIGNALS, load_artifact, read_manifest
from retriever.models.encoder import SentenceEncoder, encoder_name
from retriever.registry import make_retriever

REQUEST = Request("wheel: item 3", 3.0)
DOCUMENTS = [Document("a", "the wheel is fine", 1.0, "wheel: item 1"), Document("b", "mind the tide", 2.0)]


@pytest.fixture
def chat(
    writings: Any, users_in: Any, write_lines: Any, causal_folder: Path, run_pearl: Any, tmp_path: Path
) -> Callable[[int], dict[str, Any]]:
    """A history with so many users to choose by, scored, as the options of a command."""

    def make(dev: int) -> dict[str, Any]:
        users = [*users_in(TRAIN, 20), *users_in(DEV, dev), *users_in(TEST, 1)]
        history = write_lines(writings(users, documents=14), "chat.jsonl")
        choose = ["partition=rolling", "candidates=4", "targets=3"]
        told: dict[str, Any] = {"choose": choose, "least_candidates": 4, "aux": causal_folder}
        scores = {split: tmp_path / f"{split}.parquet" for split in (TRAIN, DEV)}
        for split, out in scores.items():
            assert run_pearl("train", "score", history=history, split=split, out=out, **told).status == 0
        return {"history": history, "scores": list(scores.values()), "proxies": 6, "work": tmp_path / "work"}

    return make


@pytest.fixture
def artifact(make_artifact: Callable[..., Path], sentence_folder: Path) -> Path:
    figures = {name: {"value": 0.5, "low": 0.4, "high": 0.6} for name in ("top1_gain", "pearson_r")}
    chosen = {"threshold": 0.5, "thresholds": {"small": 0.5, "large": EVERYTHING}, "ask_below": -99.0}
    chosen |= {"training": {"thresholds": {"small": {"metric": "rouge2", "curve": []}}}}
    return make_artifact(
        {"bm25_text": -0.1}, encoder=encoder_name(str(sentence_folder)), figures=figures, y0=0.0, tau=1.0, **chosen
    )


def scores_of(folder: Path, encoder: Path) -> np.ndarray[Any, Any]:
    load_artifact.cache_clear()
    return make_retriever(str(folder), SentenceEncoder(str(encoder))).index(DOCUMENTS).scores(REQUEST)


def test_it_is_written_beside_a_choice_that_stays(
    train: Any, chat: Any, artifact: Path, sentence_folder: Path, tmp_path: Path
) -> None:
    before, was = scores_of(artifact, sentence_folder), read_manifest(artifact)
    told = chat(16) | {"model": artifact, "encoder": sentence_folder, "json": "-"}
    ran = train("level", **told)
    report, now = json.loads(ran.out), read_manifest(artifact)
    assert (report["requests"], report["proxies"], report["kept"]) == (60 + 20 * 6, 20 * 6, True)
    assert report["pearson_r"]["chat"]["before"] < report["pearson_r"]["chat"]["after"]
    assert "the level is kept" in ran.err
    assert now.training["level"] == report
    assert now.fingerprint != was.fingerprint  # what was calibrated with other scores does not hold for these
    assert set(now.figures) == {"top1_gain"}  # r is to be measured again
    assert (now.threshold, now.thresholds) == (None, {"small": None, "large": EVERYTHING})
    assert "\ntheta of 'small' was chosen before, and is 'never' now: choose it again by" in ran.err
    assert train("threshold", model=artifact).err.startswith(
        f"pearl: {artifact}: the level of scores has changed since its curve of theta was measured; name a new report"
    )
    assert now.ask_below is not None
    assert now.ask_below > -99.0
    after = scores_of(artifact, sentence_folder)
    assert after.argmax() == before.argmax()
    assert after - after.max() == pytest.approx(before - before.max(), abs=1e-5)
    assert after.max() != pytest.approx(before.max())
    assert not list(artifact.parent.glob(f".{artifact.name}.*"))
    again = json.loads(train("level", **told).out)  # the same one, which is no better than itself
    assert again["pearson_r"]["chat"]["before"] == report["pearson_r"]["chat"]["after"]
    assert not again["kept"]


def test_it_is_left_out_where_too_few_requests_speak_for_it(
    train: Any, chat: Any, artifact: Path, sentence_folder: Path
) -> None:
    before = [(artifact / name).read_bytes() for name in (MANIFEST, SIGNALS)]
    ran = train("level", model=artifact, encoder=sentence_folder, **chat(2))
    assert (ran.status, ran.out) == (0, "")
    assert "the level is not kept, the artifact stays as it was" in ran.err
    assert [(artifact / name).read_bytes() for name in (MANIFEST, SIGNALS)] == before


@pytest.mark.parametrize(
    ("inner", "encoder", "message"),
    [
        ("bert_folder", "sentence_folder", ": has a cross-encoder, whose score says how much a document helps"),
        (None, "bert_folder", " was trained with the encoder '"),
    ],
    ids=["a cross-encoder", "another encoder"],
)
def test_an_artifact_that_it_does_not_fit(
    request: pytest.FixtureRequest,
    train: Any,
    make_artifact: Any,
    sentence_folder: Path,
    writings: Any,
    write_lines: Any,
    inner: str | None,
    encoder: str,
    message: str,
) -> None:
    cross_encoder = None if inner is None else request.getfixturevalue(inner)
    folder = make_artifact(encoder=encoder_name(str(sentence_folder)), cross_encoder=cross_encoder)
    history = write_lines(writings(["ann"]), "chat.jsonl")
    ran = train("level", model=folder, history=history, encoder=request.getfixturevalue(encoder))
    assert ran.status == 2
    assert f"{folder}{message}" in ran.err
    assert (folder / CROSS_ENCODER).exists() == (inner is not None)


def test_scores_that_it_cannot_be_chosen_by(
    train: Any, chat: Any, artifact: Path, sentence_folder: Path, causal_folder: Path, tmp_path: Path
) -> None:
    """In each case the artifact stays as it is."""
    told = chat(16) | {"encoder": sentence_folder, "model": artifact}
    learned, asked = told["scores"]
    before = [(artifact / name).read_bytes() for name in (MANIFEST, SIGNALS)]
    nothing = tmp_path / "nothing.parquet"
    pq.write_table(pq.read_table(asked).slice(0, 0), nothing)
    for changed, said in (
        ({"scores": [learned, nothing], "work": tmp_path / "w1"}, "a level that is chosen by what it learned from"),
        ({"history": [told["history"]] * 2}, "--history: two files are named 'chat'; rename one of them."),
        ({"work": artifact / "work"}, f"--work {artifact / 'work'}: lies in {artifact}"),
    ):
        ran = train("level", **told | changed)
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err
        assert sorted(path.name for path in artifact.iterdir()) == [MANIFEST, SIGNALS]
    manifest = json.loads(before[0])
    content = pq.read_schema(asked).metadata[b"pearl"]
    manifest["training"] |= {"auxiliary": "elsewhere", "auxiliary_fingerprint": json.loads(content)["fingerprint"]}
    (artifact / MANIFEST).write_text(json.dumps(manifest))
    load_artifact.cache_clear()
    assert train("level", **told).status == 0  # the same weights, named from another folder
    manifest = json.loads((artifact / MANIFEST).read_bytes())
    manifest["training"] |= {"auxiliary": "google/flan-t5-xl", "auxiliary_fingerprint": {}}
    before = [(artifact / name).read_bytes() for name in (MANIFEST, SIGNALS)]
    (artifact / MANIFEST).write_text(json.dumps(manifest))
    load_artifact.cache_clear()
    ran = train("level", **told)
    assert ran.status == 2
    assert (
        f"--scores: are gains under '{causal_folder}', and the artifact's scores stand for gains under 'goo" in ran.err
    )
    assert (artifact / SIGNALS).read_bytes() == before[1]


def test_a_history_without_scores(
    train: Any, artifact: Path, sentence_folder: Path, writings: Any, write_lines: Any
) -> None:
    history = write_lines(writings(["ann"]), "chat.jsonl")
    ran = train("level", model=artifact, history=history, encoder=sentence_folder)
    assert ran.status == 2
    assert "holds no scores of 'chat'" in ran.err
    assert not artifact.with_name(f"{artifact.name}.work").exists()
