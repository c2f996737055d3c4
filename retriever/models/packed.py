"""The forward pass of a Llama, such as SmolLM2, over many sequences laid end to end ("packed"), without padding.

One matrix product covers the tokens of all sequences, a prefix that a group's prompts share is computed once, and
attention runs sequence by sequence. transformers would pad each batch and repeat the prefix. Dimensions in comments: N
tokens, H heads, K heads of keys and of values, E entries of a head, P tokens shared by a group, S tokens behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention, silu

PLAIN = {"attention_bias": False, "mlp_bias": False, "hidden_act": "silu", "model_type": "llama"}


@dataclass(frozen=True, slots=True)
class PackedSpan:
    """The place of one group's tokens in a pack."""

    shared: slice  # the beginning that its prompts share
    parts: tuple[slice, ...]  # the rest of each prompt, with its target


@dataclass(frozen=True, slots=True)
class Pack:
    """Token sequences of several groups, laid end to end."""

    tokens: Tensor  # (N,)
    places: Tensor  # position of each token in its sequence, (N,)
    spans: tuple[PackedSpan, ...]  # of the groups

    @classmethod
    def of(cls, groups: Sequence[tuple[Sequence[int], Sequence[Sequence[int]]]]) -> Pack:
        """Pack groups; each is given as its shared tokens and the parts that follow them."""
        tokens: list[int] = []
        places: list[int] = []

        def put(part: Sequence[int], first: int) -> slice:
            start = len(tokens)
            tokens.extend(part)
            places.extend(range(first, first + len(part)))
            return slice(start, len(tokens))

        spans = tuple(
            PackedSpan(put(shared, 0), tuple(put(part, len(shared)) for part in parts)) for shared, parts in groups
        )
        return cls(torch.tensor(tokens, dtype=torch.long), torch.tensor(places), spans)


@dataclass(frozen=True, slots=True)
class PackedLayer:
    """The weights of a layer; matrices with the same input are stacked into one."""

    attention_norm: Tensor
    query_key_value: Tensor
    output: Tensor
    mlp_norm: Tensor
    gate_up: Tensor
    down: Tensor
    epsilon: float

    @classmethod
    def of(cls, layer: Any, epsilon: float) -> PackedLayer:
        attention, mlp = layer.self_attn, layer.mlp
        return cls(
            layer.input_layernorm.weight.float(),
            _joined([attention.q_proj, attention.k_proj, attention.v_proj]),
            attention.o_proj.weight,
            layer.post_attention_layernorm.weight.float(),
            _joined([mlp.gate_proj, mlp.up_proj]),
            mlp.down_proj.weight,
            epsilon,
        )

    def before(self, states: Tensor) -> Tensor:
        """Project the states, (N, hidden), to queries, keys and values, (N, (H + 2 K) E)."""
        inputs = _normed(states, self.attention_norm, self.epsilon)
        return linear(inputs.to(self.output.dtype), self.query_key_value)

    def behind(self, states: Tensor, attended: Tensor) -> Tensor:
        """Return the next layer's states, (N, hidden). ``attended``: the output of this layer's attention, (N, H E)."""
        states += linear(attended, self.output)
        inputs = _normed(states, self.mlp_norm, self.epsilon)
        gate, up = linear(inputs.to(self.output.dtype), self.gate_up).chunk(2, dim=1)
        states += linear(silu(gate).mul_(up), self.down)
        return states


def _normed(states: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Divide the states by their root mean square, (N, hidden), and multiply them by ``weight``."""
    squares = torch.linalg.vector_norm(states, dim=1, keepdim=True).square_().div_(states.shape[1])
    normed: Tensor = states * squares.add_(epsilon).rsqrt_()
    return normed.mul_(weight)


def _joined(modules: Sequence[Any]) -> Tensor:
    """Stack matrices by rows. The modules then use views of the stack, so memory holds the weights once."""
    joined = torch.cat([module.weight.detach() for module in modules])
    for module, part in zip(modules, torch.split(joined, [len(module.weight) for module in modules]), strict=True):
        module.weight.data = part
    return joined


class PackedLlama:
    """Runs the layers of a transformers Llama over packs of sequences."""

    def __init__(self, model: Any) -> None:
        config = model.config
        self.head = model.get_output_embeddings()  # states to logits
        self._model = model.model
        self._heads, self._key_heads = config.num_attention_heads, config.num_key_value_heads
        self._epsilon = config.rms_norm_eps
        self._layers = [PackedLayer.of(layer, self._epsilon) for layer in self._model.layers]
        self._last_norm = self._model.norm.weight.float()

    @staticmethod
    def can_run(model: Any) -> bool:
        """True for a plain Llama on a CPU; a GPU gains more from large padded batches."""
        config = model.config
        rope = getattr(config, "rope_parameters", None) or {}
        return (
            all(getattr(config, name, None) == value for name, value in PLAIN.items())
            and rope.get("rope_type", "default") == "default"
            and model.device.type == "cpu"
        )

    def hidden(self, pack: Pack) -> Tensor:
        """Return the final states, (N, hidden), from which the output head computes logits."""
        embedded = self._model.embed_tokens(pack.tokens)
        dtype, states = embedded.dtype, embedded.float()
        cosines, sines = (
            table[0, :, None, : table.shape[-1] // 2].to(dtype)
            for table in self._model.rotary_emb(states, pack.places.unsqueeze(0))
        )  # (N, 1, E / 2)
        masks: dict[tuple[int, int], Tensor] = {}
        for layer in self._layers:
            heads = layer.before(states)
            heads = heads.view(len(heads), self._heads + 2 * self._key_heads, -1)
            turned, values = torch.split(heads, [self._heads + self._key_heads, self._key_heads], dim=1)
            turned = _rotated(turned, cosines, sines)
            queries, keys = torch.split(turned, [self._heads, self._key_heads], dim=1)
            attended = _attended(queries, keys, values, pack.spans, masks)
            states = layer.behind(states, attended.flatten(1))
        return _normed(states, self._last_norm, self._epsilon).to(dtype)


def _rotated(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate queries and keys by their positions, (N, H + K, E)."""
    first, second = heads.chunk(2, dim=2)
    turned = torch.empty_like(heads)
    half = first.shape[2]
    torch.mul(first, cosines, out=turned[..., :half]).addcmul_(second, sines, value=-1)
    torch.mul(second, cosines, out=turned[..., half:]).addcmul_(first, sines)
    return turned


def _attended(
    queries: Tensor, keys: Tensor, values: Tensor, spans: Sequence[PackedSpan], masks: dict[tuple[int, int], Tensor]
) -> Tensor:
    """Compute attention, (N, H, E): each token attends to the tokens before it in its sequence."""
    attended = torch.empty_like(queries)
    for span in spans:
        shared = span.shared
        if shared.stop > shared.start:
            attended[shared] = _looked(queries[shared], keys[shared], values[shared], masks)
        for part in span.parts:
            key, value = (torch.cat((heads[shared], heads[part])) for heads in (keys, values))  # (P + S, K, E)
            attended[part] = _looked(queries[part], key, value, masks)
    return attended


def _looked(query: Tensor, key: Tensor, value: Tensor, masks: dict[tuple[int, int], Tensor]) -> Tensor:
    """Compute attention for a sequence's last S tokens, (S, H, E); keys and values are (P + S, K, E)."""
    (rows, heads, entries), key_heads = query.shape, key.shape[1]
    sharing = heads // key_heads
    together = query.view(rows, key_heads, sharing, entries).permute(1, 2, 0, 3)  # (K, H / K, S, E)
    together = together.reshape(1, key_heads, sharing * rows, entries)
    key, value = (part.transpose(0, 1).unsqueeze(0) for part in (key, value))
    size = rows, key.shape[2]
    if size not in masks:  # minus infinity for what comes later; the same for all layers
        later = torch.full(size, -torch.inf, dtype=query.dtype)
        masks[size] = later.triu_(1 + size[1] - size[0]).repeat(sharing, 1)
    seen = scaled_dot_product_attention(together, key, value, attn_mask=masks[size])
    return seen.view(key_heads, sharing, rows, entries).permute(2, 0, 1, 3).reshape(rows, heads, entries)
