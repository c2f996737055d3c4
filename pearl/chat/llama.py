"""A Llama from a GGUF file, as a graph of OpenVINO's operations over the file's own packed weights.

llama.cpp's wheel took two to three times as long to read a prompt; the graph multiplies the same numbers
(docs/experiments.md). Dimensions in comments: T tokens that are read, P before them, E width, A attention heads, K of
keys and values, D = E / A, V words.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from pearl.chat.gguf import Blocks, Floats, GgufFile
from pearl.chat.sampling import Sampler
from pearl.errors import ChatError
from pearl.memory import give_back
from pearl.silent_openvino import Core, Model, PartialShape, Tensor, Type, Variable, VariableInfo, integers, ops

Node = Any
READ_AT_ONCE = 128  # tokens of a prompt: between them an answer that nobody waits for ends
# what OpenVINO is compiled for at least; without it the process would end at its first product
NEEDED_INSTRUCTIONS = frozenset({"sse4_2"})
CPU_INFO = Path("/proc/cpuinfo")
ELSEWHERE = "name an endpoint with PEARL_LLM_BASE_URL and PEARL_LLM_MODEL"


class Llama:
    """A compiled model. Any number of threads may use it at once, each with a writer of its own."""

    def __init__(self, file: GgufFile, *, writers: int) -> None:
        """``writers``: how many may work at once; one alone uses all processors. Raises ChatError for a processor that
        cannot run it, LookupError where the file lacks a part of a Llama."""
        check_processor()
        graph = _Graph(file)
        options = {
            "NUM_STREAMS": str(writers),
            "INFERENCE_NUM_THREADS": (os.cpu_count() or 1) if writers == 1 else writers,
            "ENABLE_CPU_PINNING": False,  # other programs want these cores, too
            "INFERENCE_PRECISION_HINT": "f32",  # in bfloat16 it says something else
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",  # nor are its inputs rounded: without VNNI nothing came out at all
            "KV_CACHE_PRECISION": "f16",
        }
        self.compiled = Core().compile_model(graph.model(), "CPU", options)
        Writer(self).read([0])  # it lays its weights out as it multiplies them, in a second that no request waits for
        give_back()


class Writer:
    """Room for one prompt and its answer, used by one thread at a time."""

    def __init__(self, llama: Llama) -> None:
        self.position = 0  # tokens read and written
        self._prompt: list[int] = []  # what of the last prompt was read
        self._request = llama.compiled.create_infer_request()

    def write(self, prompt: Sequence[int], sampler: Sampler, left: Callable[[], bool]) -> Iterator[int]:
        """One token after the other, until ``left`` says that nobody waits for more.

        Where the prompt begins as the last one did it is not read again, by whole batches: so the answer does not
        depend on what was asked before.
        """
        pairs = zip(self._prompt, prompt[:-1], strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self._forget(shared - shared % READ_AT_ONCE)
        logits = np.empty(0, np.float32)
        for start in range(self.position, len(prompt), READ_AT_ONCE):
            if left():
                return
            some = prompt[start : start + READ_AT_ONCE]
            logits = self.read(some)
            self._prompt += some
        while not left():
            token = sampler.next(logits)
            yield token
            logits = self.read([token])

    def _forget(self, position: int) -> None:
        """Forget what was read from this place on."""
        if position == 0:
            self._request.reset_state()
        elif position < self.position:
            for state in self._request.query_state():
                state.state = Tensor(np.ascontiguousarray(state.state.data[:, :, :position]))
        self.position = position
        del self._prompt[position:]

    def read(self, tokens: Sequence[int]) -> Floats:
        """(V,), of the token after these"""
        end = self.position + len(tokens)
        places = np.arange(self.position, end, dtype=np.int32)
        self._request.infer([np.array([tokens], np.int32), places, np.zeros(1, np.int32)])
        self.position = end
        logits: Floats = self._request.get_output_tensor().data.reshape(-1).copy()
        return logits


class _Graph:
    def __init__(self, file: GgufFile) -> None:
        self._file = file
        fields = {name.removeprefix("llama."): value for name, value in file.fields.items()}
        self._layers: int = fields["block_count"]
        self._heads: int = fields["attention.head_count"]
        self._key_heads: int = fields["attention.head_count_kv"]
        self._size = fields["embedding_length"] // self._heads  # D
        self._epsilon = np.float32(fields["attention.layer_norm_rms_epsilon"])
        self._base: float = fields["rope.freq_base"]
        self._tokens = ops.parameter([-1, -1], np.int32)  # (1, T)
        self._places = ops.parameter([-1], np.int32)  # (T,)
        # which of a batch's sequences each goes on with: with this gather OpenVINO keeps keys and values in place
        self._beam = ops.parameter([-1], np.int32)
        self._kept: list[Node] = []

    def model(self) -> Model:
        """(1, T) tokens and (T,) places to (1, 1, V) logits of the token after the last one; keys and values stay."""
        words = _packed(self._file.blocks("token_embd.weight"))
        states = _rows(words, self._tokens)  # (1, T, E)
        turn = self._turn()
        for layer in range(self._layers):
            states = self._layer(f"blk.{layer}", states, turn)
        last = ops.gather(self._normed(states, "output_norm"), integers([-1]), integers(1))
        logits = ops.matmul(last, _matrix(words), False, True)
        return Model([logits.output(0)], self._kept, [self._tokens, self._places, self._beam], "llama")

    def _layer(self, name: str, states: Node, turn: Callable[[Node], Node]) -> Node:
        heads, key_heads, size = self._heads, self._key_heads, self._size
        normed = self._normed(states, f"{name}.attn_norm")
        together = self._linear(normed, *(f"{name}.attn_{part}" for part in "qkv"))
        parts = ops.variadic_split(together, integers(2), integers([heads * size, key_heads * size, -1])).outputs()
        query, key, value = (
            ops.transpose(ops.reshape(part, integers([0, 0, count, size]), True), integers([0, 2, 1, 3]))
            for part, count in zip(parts, (heads, key_heads, key_heads), strict=True)
        )  # (1, A, T, D), and (1, K, T, D) twice
        keys = self._remembered(turn(key), f"{name}.keys")  # (1, K, P + T, D)
        values = self._remembered(value, f"{name}.values")
        seen = ops.scaled_dot_product_attention(
            turn(query), self._repeated(keys), self._repeated(values), causal=True
        )  # the last token looks at all, the one before it at all but the last, and so on
        seen = ops.reshape(ops.transpose(seen, integers([0, 2, 1, 3])), integers([0, 0, heads * size]), True)
        states = ops.add(states, self._linear(seen, f"{name}.attn_output"))
        normed = self._normed(states, f"{name}.ffn_norm")
        gate, up = (self._linear(normed, f"{name}.ffn_{part}") for part in ("gate", "up"))
        return ops.add(states, self._linear(ops.multiply(ops.swish(gate), up), f"{name}.ffn_down"))

    def _linear(self, values: Node, *names: str) -> Node:
        """The products with matrices of the same input, side by side."""
        blocks = Blocks.joined([self._file.blocks(f"{name}.weight") for name in names])
        return ops.matmul(values, _matrix(_packed(blocks)), False, True)

    def _normed(self, states: Node, name: str) -> Node:
        """Divided by the root of the mean square."""
        mean = ops.reduce_mean(ops.multiply(states, states), integers([-1]), True)
        even = ops.divide(states, ops.sqrt(ops.add(mean, ops.constant(self._epsilon))))
        return ops.multiply(even, ops.constant(self._file.values(f"{name}.weight")))

    def _turn(self) -> Callable[[Node], Node]:
        """A function that turns (1, heads, T, D) by the tokens' places (RoPE)."""
        half = self._size // 2
        speeds = (self._base ** (-np.arange(half) / half)).astype(np.float32)
        angles = ops.multiply(ops.unsqueeze(ops.convert(self._places, "f32"), integers(1)), ops.constant(speeds[None]))
        angles = ops.unsqueeze(ops.concat([angles, angles], 1), integers([0, 1]))  # (1, 1, T, D)
        cosines, sines = ops.cos(angles), ops.sin(angles)

        def turned(heads: Node) -> Node:
            first, second = ops.variadic_split(heads, integers(3), integers([half, -1])).outputs()
            crossed = ops.concat([ops.multiply(second, ops.constant(np.float32(-1))), first], -1)
            return ops.add(ops.multiply(heads, cosines), ops.multiply(crossed, sines))

        return turned

    def _remembered(self, new: Node, name: str) -> Node:
        """(1, K, P + T, D): what was kept of the tokens before, and these."""
        info = VariableInfo()
        info.variable_id, info.data_type = name, Type.f32
        info.data_shape = PartialShape([-1, self._key_heads, -1, self._size])
        variable = Variable(info)
        batch = ops.gather(ops.shape_of(self._tokens, "i32"), integers([0]), integers(0))
        shape = ops.concat([batch, integers([self._key_heads, 0, self._size])], 0)
        nothing = ops.broadcast(ops.constant(np.float32(0)), shape)
        before = ops.gather(ops.read_value(nothing, variable), self._beam, integers(0))
        both = ops.concat([before, new], 2)
        self._kept.append(ops.assign(both, variable))
        return both

    def _repeated(self, heads: Node) -> Node:
        """(1, A, P + T, D): each head of keys or values stands for several of queries."""
        shape = ops.shape_of(heads, "i32")
        before, after = (ops.gather(shape, integers(places), integers(0)) for places in ([0, 1], [2, 3]))
        wanted = ops.concat([before, integers([self._heads // self._key_heads]), after], 0)
        copies = ops.broadcast(ops.unsqueeze(heads, integers(2)), wanted, broadcast_spec="BIDIRECTIONAL")
        return ops.reshape(copies, integers([0, self._heads, -1, self._size]), True)


def _packed(blocks: Blocks) -> tuple[Node, Node, Node | None]:
    """Codes in 4 or 8 bits, scales, and the codes that stand for zero, as constants."""
    codes, scales, offsets = blocks.codes, blocks.scales, blocks.offsets
    if offsets is None:
        return ops.constant(codes), ops.constant(scales), None
    scales = np.where(scales == 0, np.where(offsets == 0, 1, offsets), scales)  # of equal values the offset is all
    nibbles = Tensor(Type.u4, list(codes.shape))
    nibbles.data[:] = (codes[:, :, 0::2] | (codes[:, :, 1::2] << 4)).ravel()
    return ops.constant(nibbles), ops.constant(scales), ops.constant(-offsets / scales)


def _matrix(packed: tuple[Node, Node, Node | None]) -> Node:
    """(rows, columns), unpacked at each use"""
    codes, scales, zeros = packed
    rows, groups, size = codes.get_output_shape(0)
    values = ops.convert(codes, "f32")
    if zeros is not None:
        values = ops.subtract(values, zeros)
    return ops.reshape(ops.multiply(values, scales), integers([rows, groups * size]), False)


def _rows(packed: tuple[Node, Node, Node | None], places: Node) -> Node:
    """(1, T, columns): rows of a matrix without offsets"""
    codes, scales, _ = packed
    values, scales = (ops.gather(part, places, integers(0)) for part in (codes, scales))  # (1, T, groups, 32 or 1)
    _, groups, size = codes.get_output_shape(0)
    return ops.reshape(ops.multiply(ops.convert(values, "f32"), scales), integers([0, 0, groups * size]), True)


def check_processor(cpu_info: Path = CPU_INFO) -> None:
    """Check the processor, if the system describes it. Raises ChatError if the engine's wheel cannot run on it."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return
    try:
        known = set(cpu_info.read_text(encoding="utf-8").split())
    except OSError:
        return
    if missing := sorted(NEEDED_INSTRUCTIONS - known):
        raise ChatError(
            f"This processor has no {', '.join(missing)}, which the embedded model needs; {ELSEWHERE}.",
            code="llm_unsupported_processor",
        )
