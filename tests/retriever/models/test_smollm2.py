"""The embedded model's file in torch, against transformers' own loader, on a tiny file of the same kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quants
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from pearl.chat.llama import BYTES
from pearl.errors import InputError
from retriever.models.smollm2 import load_smollm2

WIDTH, INNER, HEADS, SHARED_HEADS, LAYERS = 64, 96, 4, 2, 2
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["t h", "th e", "Ġ the", "1 2"]
TOKENS = [*CONTROL, *BYTES, *(merge.replace(" ", "") for merge in MERGES)]
Q8, Q4, F32 = GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_1, GGMLQuantizationType.F32


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Quantised as SmolLM2's is."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(SHARED_HEADS)
    writer.add_rope_freq_base(100_000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([TokenType.CONTROL if word in CONTROL else TokenType.NORMAL for word in TOKENS])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    draw = np.random.default_rng(0)

    def add(name: str, kind: GGMLQuantizationType, *shape: int) -> None:
        packed = quants.quantize(draw.normal(size=shape).astype(np.float32), kind)
        writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)

    add("token_embd", Q8, len(TOKENS), WIDTH)
    for layer in range(LAYERS):
        rows = {"attn_q": WIDTH, "attn_k": WIDTH // HEADS * SHARED_HEADS, "attn_v": WIDTH // HEADS * SHARED_HEADS}
        rows |= {"attn_output": WIDTH, "ffn_gate": INNER, "ffn_up": INNER}
        for name, size in rows.items():
            add(f"blk.{layer}.{name}", Q4, size, WIDTH)
        add(f"blk.{layer}.ffn_down", Q4, WIDTH, INNER)
        add(f"blk.{layer}.attn_norm", F32, WIDTH)
        add(f"blk.{layer}.ffn_norm", F32, WIDTH)
    add("output_norm", F32, WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_and_results_are_those_of_transformers(file: Path, dtype: torch.dtype) -> None:
    ours, _ = load_smollm2(file, dtype)
    unpacked = GgufConfig(gguf_file=file.name, dequantize=True)
    theirs = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=dtype, quantization_config=unpacked
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


def test_tokens_are_those_of_transformers(file: Path) -> None:
    _, ours = load_smollm2(file, torch.float32)
    theirs = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    for text in ("", "the 12 of the 1212", "<|im_start|>user <|im_end|>", "\U0001f600 שלום\t\n  a , b .", "\x00\ufffd"):
        tokens = theirs(text)["input_ids"]
        assert ours(text)["input_ids"] == ours(text, add_special_tokens=False)["input_ids"] == tokens
        assert ours.decode(tokens) == theirs.decode(tokens)
    assert ours.special_tokens_map == theirs.special_tokens_map


@pytest.mark.parametrize("left", [0, 4, 30, 3_000, -100])
def test_a_file_that_is_cut_off(file: Path, tmp_path: Path, left: int) -> None:
    (tmp_path / "cut.gguf").write_bytes(file.read_bytes()[:left])
    with pytest.raises(InputError, match=r"cut\.gguf cannot be read; it may be cut off: pip install --force"):
        load_smollm2(tmp_path / "cut.gguf", torch.float32)
