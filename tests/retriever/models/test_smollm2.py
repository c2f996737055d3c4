"""The embedded model's file in torch, by a tiny file of the same kind."""

from __future__ import annotations

import pytest
import torch

from pearl.errors import InputError
from retriever.models.smollm2 import load_smollm2


# ids as SmolLM2's scores have had them from the beginning: digits are not split off as llama.cpp does
def test_weights_have_the_type_and_texts_their_tokens(tiny_gguf):
    model, tokenizer = load_smollm2(tiny_gguf, torch.bfloat16)
    assert {weights.dtype for weights in model.state_dict().values()} == {torch.bfloat16}
    assert model.lm_head.weight is model.model.embed_tokens.weight
    words = tokenizer.convert_ids_to_tokens(tokenizer("the 12 of the<|im_end|>")["input_ids"])
    assert words == ["the", "Ġ", "12", "Ġ", "o", "f", "Ġthe", "<|im_end|>"]
    assert tokenizer.special_tokens_map["bos_token"] == "<|im_start|>"


@pytest.mark.parametrize("left", [0, 4, 30, 3_000, -100])
def test_a_file_that_is_cut_off(tiny_gguf, tmp_path, left):
    (tmp_path / "cut.gguf").write_bytes(tiny_gguf.read_bytes()[:left])
    with pytest.raises(InputError, match=r"cut\.gguf cannot be read \(.*\); install it again: pip install --force"):
        load_smollm2(tmp_path / "cut.gguf", torch.float32)
