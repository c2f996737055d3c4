from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.cross_encoder import BATCH, REQUEST_WORDS, CrossEncoderModel, pair_of
from training.fit_cross_encoder import CrossEncoderOptions, logits_of, new_cross_encoder
from training.second_stage import save_cross_encoder

REQUEST = Request("true the wheel")
DOCUMENTS = [
    Document(
        str(number), f"Text {number} of the bench. " * (number % 5), request=f"Item {number}" if number % 2 else ""
    )
    for number in range(BATCH + 5)
]


@pytest.fixture
def model(cross_encoder_folder: Path) -> CrossEncoderModel:
    return CrossEncoderModel(cross_encoder_folder, 128)


def test_a_pair_is_the_request_and_the_document_with_its_own() -> None:
    assert pair_of("a  request", Document("1", "text", request="asked")) == ("a  request", "asked\ntext")
    assert pair_of("a", Document("1", "text")) == ("a", "text")
    long = " ".join(map(str, range(1000)))
    assert pair_of(long, Document("1", "text"))[0].split() == [str(number) for number in range(REQUEST_WORDS)]


def test_logits_are_those_of_the_model_that_was_trained(bert_folder: Path, tmp_path: Path) -> None:
    trained: Any = new_cross_encoder(str(bert_folder), CrossEncoderOptions())
    save_cross_encoder(trained, tmp_path / "cross")
    found = CrossEncoderModel(tmp_path / "cross", 128).logits(REQUEST, DOCUMENTS)
    assert found.dtype == np.float32
    expected = logits_of(trained, REQUEST, DOCUMENTS)
    # weights in 8 bits, and bfloat16 where the processor computes in it; random weights are larger than real ones
    assert np.corrcoef(found, expected)[0, 1] > 0.99
    assert found == pytest.approx(expected, abs=0.5 * float(expected.std()))


def test_a_logit_hardly_depends_on_its_company(model: CrossEncoderModel) -> None:
    together = model.logits(REQUEST, DOCUMENTS)
    alone = [model.logits(REQUEST, [document])[0] for document in DOCUMENTS]
    assert together.tolist() == pytest.approx(alone, abs=0.03)
    assert np.array_equal(model.logits(REQUEST, DOCUMENTS), together)


@pytest.mark.parametrize("asked", ["", "x" * 20_000, "word " * 5000, "今日は" * 1000])
def test_texts_longer_than_the_window_and_empty_ones(model: CrossEncoderModel, asked: str) -> None:
    documents = [Document("a", ""), Document("b", "y" * 20_000), Document("c", "word " * 5000, request="z" * 5000)]
    assert np.isfinite(model.logits(Request(asked), documents)).all()


def test_nothing_to_score(model: CrossEncoderModel) -> None:
    assert model.logits(REQUEST, []).shape == (0,)


def test_threads_take_turns(model: CrossEncoderModel) -> None:
    expected = model.logits(REQUEST, DOCUMENTS[:3])
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(model.logits(REQUEST, DOCUMENTS[:3]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == 4
    assert all(np.array_equal(each, expected) for each in found)
