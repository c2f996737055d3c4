"""What goes into a cross-encoder's matrices, and that the runtime finds it where it was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from retriever.models.quantized import MappedWeights, read_weights
from training.fit.activations import input_ranges
from training.fit.cross_encoder import CrossEncoderOptions, new_cross_encoder
from training.fit.kept import save_cross_encoder

PAIRS = [("asked", "a text"), ("asked", "another, longer text of bytes"), ("", "0")]
MATRICES = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
LAYER = "bert.encoder.layer.0."


def test_the_least_and_the_most_of_each_input(bert_folder: Path) -> None:
    model = new_cross_encoder(str(bert_folder), CrossEncoderOptions())
    ranges = input_ranges(model, PAIRS)
    expected = {f"{LAYER}{name}.weight" for name in (*MATRICES, "intermediate.dense")}
    assert ranges.keys() == expected  # neither behind the activation function nor in the head
    embedded = []
    with torch.inference_mode():
        for request, text in PAIRS:
            tokens = model.tokenizer([request], [text], return_tensors="pt")
            embedded.append(model.model.bert.embeddings(tokens["input_ids"])[0].numpy())
    least, most = ranges[f"{LAYER}attention.self.query.weight"]
    every = np.concatenate(embedded)
    # padding, too, goes into the matrices
    assert (least <= every.min(axis=0) + 1e-5).all()
    assert (most >= every.max(axis=0) - 1e-5).all()


def test_nothing_watches_afterwards(bert_folder: Path) -> None:
    model = new_cross_encoder(str(bert_folder), CrossEncoderOptions())
    input_ranges(model, PAIRS)
    assert not any(module._forward_pre_hooks for module in model.model.modules())


def test_more_pairs_widen_a_range(bert_folder: Path) -> None:
    model = new_cross_encoder(str(bert_folder), CrossEncoderOptions())
    few, many = input_ranges(model, PAIRS[:1]), input_ranges(model, PAIRS)
    for name, (least, most) in few.items():
        assert (many[name][0] <= least + 1e-5).all()
        assert (many[name][1] >= most - 1e-5).all()


def test_ranges_are_written_beside_the_weights(bert_folder: Path, tmp_path: Path) -> None:
    model = new_cross_encoder(str(bert_folder), CrossEncoderOptions())
    save_cross_encoder(model, tmp_path / "cross", PAIRS)
    file = tmp_path / "cross" / "model.safetensors"
    weights, ranges = MappedWeights(file), input_ranges(model, PAIRS)
    for name, found in ranges.items():
        kept = weights.range_of(name)
        assert kept is not None
        assert np.allclose(kept, found, atol=1e-5)
    assert weights.range_of(f"{LAYER}output.dense.weight") is None
    assert read_weights(file).keys() == model.model.state_dict().keys()
