from __future__ import annotations

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.models.cross_encoder import CrossEncoderModel, PairReading
from training.data.records import Example
from training.fit.cross_encoder import CrossEncoderOptions, GroupFitting, logits_of, new_cross_encoder
from training.fit.head import plain
from training.fit.kept import kept_or_fitted, save_cross_encoder

OPTIONS = CrossEncoderOptions(PairReading(64), batch=4, rate=1e-3, evaluations=1)


def test_saved_it_is_what_an_artifact_loads(bert_folder, tmp_path):
    model = new_cross_encoder(str(bert_folder), OPTIONS)
    request = Request("request 1")
    documents = [Document(f"ann{n}", f"text {n} of ann", float(n), f"request {n}") for n in range(5)]
    logits = logits_of(model, request, documents, OPTIONS.reading)
    save_cross_encoder(model, tmp_path / "cross")
    loaded = CrossEncoderModel(tmp_path / "cross", OPTIONS.reading).logits(request, documents)
    assert loaded == pytest.approx(logits, abs=0.1 + 0.1 * float(np.abs(logits).max()))


def test_a_kept_training_makes_the_artifact_that_the_training_made(bert_folder, tmp_path):
    documents = [Document(f"ann{n}", f"text {n} of ann", float(n), f"request {n}") for n in range(4)]
    gains = np.arange(4, dtype=np.float32)
    groups = [Example("ann", f"r{n}", Request(f"request {n}"), tuple(documents), gains) for n in range(4)]

    def saved(name: str) -> dict[str, bytes]:
        model = new_cross_encoder(str(bert_folder), OPTIONS)
        fitted = kept_or_fitted(model, GroupFitting(groups, groups, plain(5.0), OPTIONS), tmp_path / "work", {})
        save_cross_encoder(fitted.model, tmp_path / name)
        return {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}

    assert saved("at once") == saved("later")
