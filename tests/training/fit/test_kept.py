from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.models.cross_encoder import CrossEncoderModel
from training.fit.cross_encoder import CrossEncoderOptions, logits_of, new_cross_encoder
from training.fit.kept import save_cross_encoder

OPTIONS = CrossEncoderOptions(max_tokens=64, batch=4, rate=1e-3, evaluations=1)


def test_saved_it_is_what_an_artifact_loads(bert_folder: Path, tmp_path: Path) -> None:
    model = new_cross_encoder(str(bert_folder), OPTIONS)
    request = Request("request 1")
    documents = [Document(f"ann{n}", f"text {n} of ann", float(n), f"request {n}") for n in range(5)]
    logits = logits_of(model, request, documents)
    save_cross_encoder(model, tmp_path / "cross")
    loaded = CrossEncoderModel(tmp_path / "cross", OPTIONS.max_tokens).logits(request, documents)
    assert loaded == pytest.approx(logits, abs=0.1 + 0.1 * float(np.abs(logits).max()))
