"""The embedded model's file in torch, against transformers' own loader, on a tiny file of the same kind."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from pearl.errors import InputError
from retriever.models.smollm2 import load_smollm2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_and_results_are_those_of_transformers(tiny_gguf: Path, dtype: torch.dtype) -> None:
    ours, _ = load_smollm2(tiny_gguf, dtype)
    unpacked = transformers.GgufConfig(gguf_file=tiny_gguf.name, dequantize=True)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        tiny_gguf.parent, gguf_file=tiny_gguf.name, dtype=dtype, quantization_config=unpacked
    )
    mine, wanted = ours.state_dict(), theirs.state_dict()
    assert set(mine) == set(wanted)
    assert all(mine[name].dtype == dtype and torch.equal(mine[name], wanted[name]) for name in wanted)
    assert ours.lm_head.weight is ours.model.embed_tokens.weight
    tokens = torch.arange(40).unsqueeze(0)
    with torch.inference_mode():
        assert torch.equal(ours.eval()(tokens).logits, theirs.eval()(tokens).logits)
    for name in ("rms_norm_eps", "rope_parameters", "max_position_embeddings", "head_dim", "pad_token_id"):
        assert getattr(ours.config, name) == getattr(theirs.config, name)


def test_tokens_are_those_of_transformers(tiny_gguf: Path) -> None:
    _, ours = load_smollm2(tiny_gguf, torch.float32)
    theirs = transformers.AutoTokenizer.from_pretrained(tiny_gguf.parent, gguf_file=tiny_gguf.name)
    for text in ("", "the 12 of the 1212", "<|im_start|>user <|im_end|>", "\U0001f600 שלום\t\n  a , b .", "\x00\ufffd"):
        tokens = theirs(text)["input_ids"]
        assert ours(text)["input_ids"] == ours(text, add_special_tokens=False)["input_ids"] == tokens
        assert ours.decode(tokens) == theirs.decode(tokens)
    assert ours.special_tokens_map == theirs.special_tokens_map


@pytest.mark.parametrize("left", [0, 4, 30, 3_000, -100])
def test_a_file_that_is_cut_off(tiny_gguf: Path, tmp_path: Path, left: int) -> None:
    (tmp_path / "cut.gguf").write_bytes(tiny_gguf.read_bytes()[:left])
    with pytest.raises(InputError, match=r"cut\.gguf cannot be read \(.*\); install it again: pip install --force"):
        load_smollm2(tmp_path / "cut.gguf", torch.float32)
