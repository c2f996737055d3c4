from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pearl.clock import Clock
from pearl.errors import InputError
from pearl.records import Document, Request
from retriever.models.cross_encoder import ALL_WORDS, REQUEST_WORDS, CrossEncoderModel, PairReading
from retriever.models.quantized import write_weights
from training.fit.cross_encoder import CrossEncoderOptions, logits_of, new_cross_encoder
from training.fit.kept import save_cross_encoder

REQUEST = Request("true the wheel")
DOCUMENTS = [
    Document(
        str(number), f"Text {number} of the bench. " * (number % 5), request=f"Item {number}" if number % 2 else ""
    )
    for number in range(21)
]


@pytest.fixture
def model(cross_encoder_folder) -> CrossEncoderModel:
    return CrossEncoderModel(cross_encoder_folder, PairReading(128))


def test_a_pair_is_the_request_and_the_document_with_its_own():
    answered = Document("1", "text", request="asked")
    assert PairReading(128).pair("a  request", answered) == ("a  request", "asked\ntext")
    assert PairReading(128, own_requests=False).pair("a  request", answered) == ("a  request", "text")
    assert PairReading(128).pair("a", Document("1", "text")) == ("a", "text")


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (PairReading(128), REQUEST_WORDS),
        (PairReading(512, 5), 5),
        (PairReading(512, ALL_WORDS), 900),
        (PairReading(8192, 950), 900),
    ],
)
def test_a_request_is_cut_where_the_training_says_so(reading, words):
    asked = [str(number) for number in range(900)]
    assert reading.request_part(" ".join(asked)).split() == asked[:words]


def test_a_long_window_is_filled_and_what_no_window_holds_is_not_cut_into_tokens():
    document = Document("1", "word " * 60_000)
    assert len(PairReading(8192).document_part(document).split()) > 8192
    assert (
        len(PairReading(128).document_part(document))
        == len(PairReading(128, ALL_WORDS).request_part(document.text))
        < 5_000
    )


def test_the_end_of_a_long_request_is_read_where_the_whole_is(cross_encoder_folder):
    long, documents = "a " * REQUEST_WORDS, [Document("1", "b")]
    for words, differ in ((REQUEST_WORDS, False), (ALL_WORDS, True)):
        model = CrossEncoderModel(cross_encoder_folder, PairReading(128, words))
        found = [model.logits(Request(long + end), documents).tolist() for end in ("kettle", "tide")]
        assert (found[0] != found[1]) == differ


def test_logits_are_those_of_the_model_that_was_trained(bert_folder, tmp_path):
    trained: Any = new_cross_encoder(str(bert_folder), CrossEncoderOptions())
    save_cross_encoder(trained, tmp_path / "cross")
    found = CrossEncoderModel(tmp_path / "cross", PairReading(128)).logits(REQUEST, DOCUMENTS)
    assert found.dtype == np.float32
    expected = logits_of(trained, REQUEST, DOCUMENTS, PairReading(128))
    # weights in 8 bits, and bfloat16 where the processor computes in it; random weights are larger than real ones
    assert np.corrcoef(found, expected)[0, 1] > 0.99
    assert found == pytest.approx(expected, abs=0.5 * float(expected.std()))


def test_a_logit_does_not_depend_on_its_company(model):
    together = model.logits(REQUEST, DOCUMENTS)
    alone = [model.logits(REQUEST, [document])[0] for document in DOCUMENTS]
    assert together.tolist() == alone
    assert np.array_equal(model.logits(REQUEST, DOCUMENTS), together)


@pytest.mark.parametrize("asked", ["", "x" * 20_000, "word " * 5000, "今日は" * 1000])
def test_texts_longer_than_the_window_and_empty_ones(model, asked):
    documents = [Document("a", ""), Document("b", "y" * 20_000), Document("c", "word " * 5000, request="z" * 5000)]
    assert np.isfinite(model.logits(Request(asked), documents)).all()


def test_parts_are_read_one_after_the_other_and_no_more_than_are_asked_for(model):
    parts = [DOCUMENTS[:2], [], DOCUMENTS[2:], DOCUMENTS]
    begun: list[int] = []

    def counted() -> Iterator[list[Document]]:
        for number, part in enumerate(parts):
            begun.append(number)
            yield part

    found = list(model.read(REQUEST, counted(), {}))
    assert [len(each) for each in found] == [len(part) for part in parts]
    assert np.concatenate(found).tolist() == [model.logits(REQUEST, [each])[0] for part in parts for each in part]
    begun.clear()
    parts = [DOCUMENTS] * 9
    with closing(model.read(REQUEST, counted(), {})) as reading:
        next(reading)
    assert len(begun) <= 3
    assert np.array_equal(model.logits(REQUEST, DOCUMENTS[:2]), found[0])


def test_nothing_to_score(model):
    assert model.logits(REQUEST, []).shape == (0,)


def test_threads_share_it(model):
    expected = model.logits(REQUEST, DOCUMENTS[:3])
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(model.logits(REQUEST, DOCUMENTS[:3]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(each, expected) for each in found)


def test_another_architecture_runs_under_torch(cross_encoder_folder, tmp_path):
    """The same weights, so nearly the same logits: of an activation that the runtime does not know."""
    folder = Path(shutil.copytree(cross_encoder_folder, tmp_path / "cross"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_act": "gelu_python"}))
    found = CrossEncoderModel(folder, PairReading(128)).logits(REQUEST, DOCUMENTS)
    expected = CrossEncoderModel(cross_encoder_folder, PairReading(128)).logits(REQUEST, DOCUMENTS)
    assert found == pytest.approx(expected, abs=0.2 * float(expected.std()))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.safetensors").write_bytes(b"junk"),
        lambda folder: write_weights({"a": torch.zeros(2)}, folder / "model.safetensors"),  # of something else
        lambda folder: (folder / "config.json").unlink(),
    ],
)
def test_a_folder_that_cannot_be_loaded(damage, cross_encoder_folder, tmp_path):
    folder = Path(shutil.copytree(cross_encoder_folder, tmp_path / "cross"))
    damage(folder)
    with pytest.raises(InputError, match="the cross-encoder cannot be loaded") as caught:
        CrossEncoderModel(folder, PairReading(128)).load()
    assert caught.value.code == "damaged_file"
    assert "\n" not in caught.value.message


def test_a_turn_that_comes_too_late_is_not_begun(cross_encoder_folder):
    model = CrossEncoderModel(cross_encoder_folder, PairReading(64))
    model.logits(Request("a"), [Document("d", "b")])  # now it knows how long a document takes
    endless = 10**12
    found: list[bool] = []

    def wait(documents: int, clock: Clock) -> None:
        with model.turn(documents, clock) as has_turn:
            found.append(has_turn)

    for documents, clock in ((endless, Clock(60_000)), (1, Clock(60_000)), (endless, Clock()), (1, Clock(20))):
        thread = threading.Thread(target=wait, args=(documents, clock))
        with model.turn(1, Clock()) as has_turn:
            assert has_turn
            thread.start()
            thread.join(0.1)
        thread.join()
    assert found == [False, True, True, False]
    with model.turn(endless, Clock(60_000)) as has_turn:
        assert has_turn  # it did not wait, so its pace is measured
