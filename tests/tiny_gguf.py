"""A Llama of a few thousand random weights, packed and named as SmolLM2's file is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quants
from tokenizers.pre_tokenizers import ByteLevel

WIDTH, INNER, HEADS, SHARED_HEADS, LAYERS = 64, 96, 4, 2, 2
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["t h", "th e", "Ġ the", "1 2"]
TOKENS = [*CONTROL, *sorted(ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]
Q8, Q4, F32 = GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_1, GGMLQuantizationType.F32


def write_tiny_gguf(
    path: Path,
    *,
    control: Sequence[str] = CONTROL,
    template: str = "",
    architecture: str = "llama",
    sentencepiece: bool = False,
    context_tokens: int = 128,
    spread: float = 1,
) -> None:
    """Write it, by llama.cpp's own library. Of the ``control`` tokens the second begins a text and the third ends it;
    ``sentencepiece`` has the vocabulary of Llama 2's kind, with a blank before each text. With a small ``spread`` of
    the layers' weights an answer does not hang on how llama.cpp rounds."""
    writer = GGUFWriter(path, architecture)
    words, kinds = _vocabulary(control, sentencepiece=sentencepiece)
    writer.add_block_count(LAYERS)
    writer.add_context_length(context_tokens)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(SHARED_HEADS)
    writer.add_rope_freq_base(100_000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama" if sentencepiece else "gpt2")
    writer.add_tokenizer_pre("default" if sentencepiece else "smollm")
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    if sentencepiece:
        writer.add_token_scores([0.0] * len(words))
        writer.add_add_bos_token(True)
    else:
        writer.add_token_merges(MERGES)
    if template:
        writer.add_chat_template(template)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    draw = np.random.default_rng(0)

    def add(name: str, kind: GGMLQuantizationType, *shape: int) -> None:
        packed = quants.quantize(draw.normal(0, spread if "blk" in name else 1, shape).astype(np.float32), kind)
        writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)

    add("token_embd", Q8, len(words), WIDTH)
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


def _vocabulary(control: Sequence[str], *, sentencepiece: bool) -> tuple[list[str], list[TokenType]]:
    if sentencepiece:
        usual, kind = [f"<0x{byte:02X}>" for byte in range(256)], TokenType.BYTE
        return [*control, *usual, "\u2581"], [*[TokenType.CONTROL] * len(control), *[kind] * 256, TokenType.NORMAL]
    words = [*control, *TOKENS[len(CONTROL) :]]
    return words, [TokenType.CONTROL if word in control else TokenType.NORMAL for word in words]
