"""Encoders of the BERT and MPNet architectures as OpenVINO graphs that use the weights in their own file.

A model is not exported for OpenVINO, because exporters need torch and write a second copy of the weights. Here torch
and the runtime share one file.

Dimensions in comments: B texts or pairs, T tokens of each, L of them that attend, E width of the model, A attention
heads, D = E / A.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.models.runtime.silent_openvino import Model, integers, ops
from retriever.models.folder import FIRST_POSITION
from retriever.models.quantized import MappedWeights, packed

Node = Any
Floats = NDArray[np.float32]
BUCKETS, FARTHEST = 32, 128  # of MPNet's distances between tokens
LARGE_TABLE = 4096  # rows; rounding those of positions, which every text has in common, would cost ten times as much
# Rows and columns of what the runtime multiplies while it is packed. Other matrices it would unpack when it compiles,
# for each core at the same time and in the same place: a third of the runs then had one without its scales.
WHOLE = 64
MASKED = -1e4  # added to an attention score: enough for a weight of zero


class Arithmetic(Enum):
    """The number format in which a processor multiplies matrices."""

    FLOAT32 = auto()  # packed matrices as they are
    BFLOAT16 = auto()  # packed matrices unpacked once


Graph = Callable[[Mapping[str, Any], MappedWeights, Arithmetic], Model]


@dataclass(frozen=True, slots=True)
class Names:
    """An architecture's names for the weights of a layer and of the classification head."""

    attention: tuple[str, str, str]
    attended: str
    attended_norm: str
    head: tuple[str, str]


NAMES = {
    "bert": Names(
        attention=("attention.self.query", "attention.self.key", "attention.self.value"),
        attended="attention.output.dense",
        attended_norm="attention.output.LayerNorm",
        head=("bert.pooler.dense", "classifier"),
    ),
    "mpnet": Names(
        attention=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        attended="attention.attn.o",
        attended_norm="attention.LayerNorm",
        head=("classifier.dense", "classifier.out_proj"),
    ),
}


def mean_graph(config: Mapping[str, Any], weights: MappedWeights, arithmetic: Arithmetic) -> Model:
    """Build the graph that averages over the tokens: ids, types and mask, (B, 3, T) -> (B, E)."""
    encoder = _Encoder(config, weights, arithmetic)
    return Model([_mean(encoder.hidden(), encoder.mask)], [encoder.tokens])


def layers_graph(layers: Sequence[int]) -> Graph:
    """Return a builder of graphs that average over the tokens after each of ``layers`` (0: the embeddings): ids, types
    and mask, (B, 3, T) -> (B, layers x E)."""

    def graph(config: Mapping[str, Any], weights: MappedWeights, arithmetic: Arithmetic) -> Model:
        encoder = _Encoder(config, weights, arithmetic)
        states = list(islice(encoder.states(), max(layers) + 1))
        return Model([ops.concat([_mean(states[layer], encoder.mask) for layer in layers], 1)], [encoder.tokens])

    return graph


def pair_graph(config: Mapping[str, Any], weights: MappedWeights, arithmetic: Arithmetic) -> Model:
    """Build the graph that averages over each of two texts read together: ids, types and places (1: first text, 2:
    second), (B, 3, T) -> (B, 2 E)."""
    encoder = _Encoder(config, weights, arithmetic)
    hidden = encoder.hidden()
    means = [_mean(hidden, ops.convert(ops.equal(encoder.places, integers(text)), "f32")) for text in (1, 2)]
    return Model([ops.concat(means, 1)], [encoder.tokens])


def _mean(hidden: Node, mask: Node) -> Node:
    """Average over the tokens in the mask: (B, T, E) and (B, T) -> (B, E)."""
    mask = ops.unsqueeze(mask, integers(-1))  # (B, T, 1)
    total = ops.reduce_sum(ops.multiply(hidden, mask), integers(1))
    return ops.divide(total, ops.reduce_sum(mask, integers(1)))


def logits_graph(config: Mapping[str, Any], weights: MappedWeights, arithmetic: Arithmetic) -> Model:
    """Build the graph of a classifier: ids, types and mask, (B, 3, T) -> logits, (B, labels)."""
    encoder = _Encoder(config, weights, arithmetic)
    inner, outer = encoder.names.head
    first = ops.squeeze(encoder.first(), integers(1))  # (B, E)
    return Model([encoder.linear(ops.tanh(encoder.linear(first, inner)), outer)], [encoder.tokens])


class _Encoder:
    def __init__(self, config: Mapping[str, Any], weights: MappedWeights, arithmetic: Arithmetic) -> None:
        kind = config["model_type"]
        self.names = NAMES[kind]
        self.tokens = ops.parameter([-1, 3, -1], np.int32)
        self._ids, self._types = (ops.gather(self.tokens, integers(row), integers(1)) for row in (0, 1))  # (B, T)
        self.places = ops.gather(self.tokens, integers(2), integers(1))  # (B, T), 0 behind the end
        self.mask = ops.convert(ops.minimum(self.places, integers(1)), "f32")
        self._config = config
        self._layers: int = config["num_hidden_layers"]
        self._first = FIRST_POSITION[kind]
        self._weights = weights
        self._arithmetic = arithmetic
        self._prefix = f"{kind}." if f"{kind}.embeddings.word_embeddings.weight" in weights else ""

    def hidden(self) -> Node:
        """Return the states after the last layer, (B, T, E)."""
        *_, hidden = self.states()
        return hidden

    def states(self) -> Iterator[Node]:
        """Yield the states, (B, T, E): the embeddings, then those after each layer."""
        hidden, mask = self._embedded(), self._attention_mask()
        yield hidden
        for layer in range(self._layers):
            hidden = self._layer(layer, hidden, hidden, mask)
            yield hidden

    def first(self) -> Node:
        """Return the first token's state after the last layer, (B, 1, E); the others are not computed there."""
        hidden, mask = self._embedded(), self._attention_mask()
        for layer in range(self._layers - 1):
            hidden = self._layer(layer, hidden, hidden, mask)
        first = ops.gather(hidden, integers([0]), integers(1))
        return self._layer(self._layers - 1, first, hidden, ops.gather(mask, integers([0]), integers(2)))

    def _layer(self, layer: int, looking: Node, hidden: Node, mask: Node) -> Node:
        """Return a layer's output for the tokens ``looking``, (B, L, E), which attend to all, (B, T, E)."""
        width, heads, names = self._config["hidden_size"], self._config["num_attention_heads"], self.names
        at = f"{self._prefix}encoder.layer.{layer}."
        query, key, value = (
            _turned(ops.reshape(self.linear(tokens, at + name), integers([0, 0, heads, width // heads]), True))
            for tokens, name in zip((looking, hidden, hidden), names.attention, strict=True)
        )  # (B, A, L, D), and (B, A, T, D) twice
        seen = ops.reshape(
            _turned(ops.scaled_dot_product_attention(query, key, value, mask)), integers([0, 0, width]), True
        )
        looking = self._norm(ops.add(self.linear(seen, at + names.attended), looking), at + names.attended_norm)
        inner = ops.gelu(self.linear(looking, at + "intermediate.dense"), "erf")
        return self._norm(ops.add(self.linear(inner, at + "output.dense"), looking), at + "output.LayerNorm")

    def linear(self, values: Node, name: str) -> Node:
        matrix, scale = self._weights[f"{name}.weight"], self._weights.scale_of(f"{name}.weight")
        bias = self._weights[f"{name}.bias"]
        if scale is not None and not self._stays_packed(matrix):
            matrix, scale = matrix * scale, None
        factor = _constant(matrix)
        if scale is not None:
            factor = ops.multiply(ops.convert(factor, "f32"), _constant(scale))
        return ops.add(ops.matmul(values, factor, False, True), _constant(bias))

    def _stays_packed(self, matrix: NDArray[Any]) -> bool:
        """True if a matrix stays in int8. Not in bfloat16, where unpacking takes as long as multiplying, nor for odd
        sizes."""
        if self._arithmetic is Arithmetic.BFLOAT16:
            return False
        rows, columns = matrix.shape
        return not (rows % WHOLE or columns % WHOLE)

    def _norm(self, values: Node, name: str) -> Node:
        even = ops.mvn(values, integers([-1]), True, self._config["layer_norm_eps"], "inside_sqrt")
        weight, bias = (_constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return ops.add(ops.multiply(even, weight), bias)

    def _embedded(self) -> Node:
        """Return the embeddings, (B, T, E)."""
        at = f"{self._prefix}embeddings."
        embeddings = ops.add(
            self._rows(at + "word_embeddings.weight", self._ids),
            self._rows(at + "position_embeddings.weight", self._range(self._first)),
        )
        if at + "token_type_embeddings.weight" in self._weights:
            embeddings = ops.add(embeddings, self._rows(at + "token_type_embeddings.weight", self._types))
        return self._norm(embeddings, at + "LayerNorm")

    def _rows(self, name: str, places: Node) -> Node:
        """Look up rows of a table. A large table is converted to int8, because most of it would soon be in memory."""
        table, scale = self._weights[name], self._weights.scale_of(name)
        if scale is None and len(table) > LARGE_TABLE:
            table, scale = packed(table)
        rows = ops.gather(_constant(table), places, integers(0))
        if scale is None:
            return rows
        return ops.multiply(ops.convert(rows, "f32"), ops.gather(_constant(scale), places, integers(0)))

    def _range(self, first: int) -> Node:
        """Return the positions from ``first`` on, (1, T)."""
        length = ops.gather(ops.shape_of(self.tokens, "i32"), integers(2), integers(0))
        until = ops.add(length, integers(first))
        return ops.unsqueeze(ops.range(integers(first), until, integers(1), "i32"), integers(0))

    def _attention_mask(self) -> Node:
        """Return what is added to attention scores, (B, 1, 1, T); with MPNet's distances (B, A, T, T)."""
        masked = ops.multiply(ops.subtract(_constant(np.float32(1)), self.mask), _constant(np.float32(MASKED)))
        mask = ops.unsqueeze(masked, integers([1, 2]))
        table = f"{self._prefix}encoder.relative_attention_bias.weight"
        if table not in self._weights:
            return mask
        positions = self._range(0)
        apart = ops.subtract(
            ops.unsqueeze(positions, integers(-2)), ops.unsqueeze(positions, integers(-1))
        )  # (1, T, T)
        longest = self._config["max_position_embeddings"]
        buckets = ops.gather(integers(_buckets(longest)), ops.add(apart, integers(longest - 1)), integers(0))
        bias = ops.transpose(self._rows(table, buckets), integers([0, 3, 1, 2]))
        return ops.add(bias, mask)


def _buckets(longest: int) -> NDArray[np.int32]:
    """Return the row of MPNet's table for each distance from 1 - longest to longest - 1, (2 longest - 1,)."""
    apart = np.arange(1 - longest, longest)
    half, exact = BUCKETS // 2, BUCKETS // 4
    steps = np.log(np.maximum(abs(apart), 1) / exact) / np.log(FARTHEST / exact) * (half - exact)
    far = np.minimum(exact + steps.astype(np.int32), half - 1)
    rows: NDArray[np.int32] = (np.where(abs(apart) < exact, abs(apart), far) + half * (apart > 0)).astype(np.int32)
    return rows


def _turned(values: Node) -> Node:
    """Swap the middle axes: (B, T, A, D) to (B, A, T, D), or back."""
    return ops.transpose(values, integers([0, 2, 1, 3]))


def _constant(values: Any) -> Node:
    """Make a constant that uses the array's memory, so the array must outlive the model; half precision is copied."""
    values = np.asarray(values)
    return ops.constant(values.astype(np.float32) if values.dtype == np.float16 else values, shared_memory=True)
