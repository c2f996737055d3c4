"""The folder that carries a trained retriever, and what is wrong with one that does not."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.errors import InputError
from pearl.records import Document, Request
from retriever.base import Calibration
from retriever.calibrated.artifact import (
    CROSS_ENCODER,
    MANIFEST,
    PARTIAL,
    SHIPPED,
    SIGNALS,
    artifact_retriever,
    load_artifact,
    read_manifest,
    write_manifest,
)
from retriever.models.cross_encoder import PairReading
from retriever.registry import make_retriever

DOCUMENTS = [Document("a", "true the wheel", 1.0), Document("b", "mind the tide", 2.0)]
REQUEST = Request("the wheel", 3.0)


def change(folder: Path, **fields: Any) -> None:
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(content | fields))


def test_it_comes_back_as_it_was_written(make_artifact, word_encoder):
    training = {"histories": [{"file": "h.jsonl.gz"}], "auxiliary": "embedded"}
    figures = {"top1_gain": {"value": 17.61, "low": 12.0, "high": 23.0}, "requests": 120}
    folder = make_artifact(threshold=-0.5, floor=-2.0, ask_below=-3.0, training=training, figures=figures, reranked=7)
    artifact = read_manifest(folder)
    assert artifact.calibration == Calibration(-0.5, -2.0, -3.0)
    assert (artifact.training, artifact.figures, artifact.reranked) == (training, figures, 7)
    assert list(artifact.files) == [SIGNALS]
    retriever = artifact_retriever(folder, word_encoder())
    assert (retriever.name, retriever.calibration) == ("tiny", artifact.calibration)
    assert retriever.origin == artifact.inherited()
    assert "y0 20 nats, tau 5, theta -0.50" in retriever.origin
    assert "trained on h.jsonl.gz; on users held back: top1_gain 17.6 [12, 23]" in retriever.origin
    write_manifest(folder, replace(artifact, threshold=None))
    assert "never revises" in read_manifest(folder).inherited()


def test_its_cross_encoder_reads_as_it_was_trained_to(make_artifact, cross_encoder_folder, word_encoder):
    """An artifact that does not say how long a request is read, reads 48 words, as it did when it was written."""
    asked = [Request("a " * 60 + end) for end in ("kettle", "tide")]
    names = []
    for changed, differ in (({}, False), ({"request_words": 55}, False), ({"request_words": 0}, True)):
        folder = make_artifact(cross_encoder=cross_encoder_folder, weight=1.0, reranked=1_000_000)
        content = json.loads((folder / MANIFEST).read_text())
        del content["request_words"]
        (folder / MANIFEST).write_text(json.dumps(content | changed))
        index = artifact_retriever(folder, word_encoder()).index([Document("1", "b")])
        first, second = (index.scores(request)[0] for request in asked)
        assert (first != second) == differ
        names.append(read_manifest(folder).fingerprint)
    assert read_manifest(folder).reading == PairReading(128, 0)
    assert len(set(names)) == 3


def test_its_scores_are_those_of_its_parts(make_artifact, word_encoder):
    folder = make_artifact({"overlap_text": 3.0}, bias=-1.0)
    scores = make_retriever(str(folder), word_encoder()).index(DOCUMENTS).scores(REQUEST)
    assert scores.tolist() == pytest.approx([3 * 2 / 2 - 1, 3 * 1 / 2 - 1])


def test_an_interruption_leaves_the_artifact_that_was_there(make_artifact, word_encoder):
    folder = make_artifact(threshold=1.0)
    (folder / PARTIAL).write_text("{ half a manifest")
    assert artifact_retriever(folder, word_encoder()).calibration.threshold == 1.0
    write_manifest(folder, replace(read_manifest(folder), threshold=2.0))
    assert read_manifest(folder).threshold == 2.0
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, SIGNALS]
    load_artifact.cache_clear()
    assert artifact_retriever(folder, word_encoder()).calibration.threshold == 2.0


def changed_file(folder: Path) -> None:
    content = bytearray((folder / CROSS_ENCODER / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / CROSS_ENCODER / "model.safetensors").write_bytes(content)


def no_list_of_files(folder: Path) -> None:
    shutil.rmtree(folder / CROSS_ENCODER)
    (folder / SIGNALS).unlink()
    change(folder, files={})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / SIGNALS).unlink(), f"its file '{SIGNALS}' is missing"),
        (lambda folder: (folder / "notes.txt").write_text("mine"), "the file 'notes.txt' does not belong to it"),
        (changed_file, "'cross-encoder/model.safetensors' is not the one"),
        (
            lambda folder: (folder / CROSS_ENCODER / "tokenizer.json").unlink(),
            "'cross-encoder/tokenizer.json' is missing",
        ),
        (lambda folder: shutil.rmtree(folder / CROSS_ENCODER), "is missing"),
        (no_list_of_files, f"its file '{SIGNALS}' is missing"),
        (lambda folder: (folder / MANIFEST).unlink(), f"it has no {MANIFEST}"),
        (lambda folder: (folder / MANIFEST).write_text('{"name": "ti'), "cannot be read"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "format is not"),
        (lambda folder: change(folder, kind="reward"), "holds a reward model, not a retriever"),
        *(
            (lambda folder, fields=fields: change(folder, **fields), said)
            for fields, said in (
                ({"format": 99}, "format is not"),
                ({"colour": "red"}, "of this version: colour: is not one of them"),
                ({"signals": ["bm25"]}, "signals that this version does not compute"),
                ({"signals": None}, "of this version: signals: "),
                ({"thresholds": [1.0]}, "of this version: thresholds: "),
                ({"thresholds": {"m": "x"}}, "of this version: thresholds.m: "),
                ({"threshold": "often"}, "of this version: threshold: "),
                ({"helps": {"slope": 1}}, "of this version: helps.intercept: "),
                ({"y0": None}, "of this version: y0: "),
                ({"files": []}, "of this version: files: "),
                ({"figures": None}, "of this version: figures: "),
            )
        ),
    ],
)
def test_what_is_wrong_is_one_line(make_artifact, cross_encoder_folder, word_encoder, spoil, said):
    folder = make_artifact(cross_encoder=cross_encoder_folder)
    spoil(folder)
    with pytest.raises(InputError) as caught:
        artifact_retriever(folder, word_encoder())
    assert said in caught.value.message
    assert str(folder) in caught.value.message
    assert "\n" not in caught.value.message


def test_another_encoder_is_refused(make_artifact, word_encoder):
    folder = make_artifact()
    with pytest.raises(InputError, match="trained with the encoder 'words', not with 'others'"):
        artifact_retriever(folder, word_encoder("others"))


@pytest.mark.parametrize("name", ["nowhere/artifact", "/", "./"])
def test_a_folder_that_is_no_artifact(word_encoder, name):
    with pytest.raises(InputError, match="is not an artifact"):
        make_retriever(name, word_encoder())


def test_a_folder_does_not_take_a_retrievers_name(make_artifact, word_encoder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    make_artifact().rename("bm25")
    make_artifact().rename("mine")
    (tmp_path / "other").mkdir()
    assert make_retriever("bm25", word_encoder()).name == "bm25"
    assert make_retriever("mine", word_encoder()).name == "tiny"
    with pytest.raises(InputError, match="is not an artifact"):
        make_retriever("other", word_encoder())


def test_words_cannot_be_read_back(make_artifact):
    folder = make_artifact()
    assert not any(b"wheel" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert load_artifact(folder)[1].words.weights.dtype == np.float32


def test_the_artifact_that_ships(encoder):
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 30_000_000
    retriever = make_retriever("embedded", encoder)
    ranking = retriever.rank(REQUEST, DOCUMENTS)
    assert ranking[0].document.text == "true the wheel"
    assert all(np.isfinite(found.score) for found in ranking)
    assert retriever.origin


def test_the_artifact_that_ships_asks_where_a_history_has_little_to_do_with_a_request(encoder):
    """The example of section 5.3 of papers/pearl.txt, over a longer history than there."""
    retriever = make_retriever("embedded", encoder)
    assert retriever.calibration.ask_unrelated is not None
    places = ("bridge", "harbour", "library", "market", "station", "school", "tower", "park")
    documents = [
        Document(place, f"The council approved the budget of the {place} on Tuesday.", float(time))
        for time, place in enumerate(places)
    ]

    def asks(request: str) -> bool:
        return retriever.calibration.asks(retriever.rank(Request(request, 100.0), documents))

    assert asks("Write a post about how I like to relax after work")
    assert not asks("What of the library's budget?")
