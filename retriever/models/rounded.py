"""The packed Llama with its matrices and their inputs in 8 bits, by OpenVINO's kernels.

Where a processor adds up products of bytes (VNNI) this takes two thirds of float32's time. Inputs are rounded in groups
of 32, each row by itself, when they are known; matrices in groups of 32 along their rows, once. A few entries of a
Llama's states are ten times as large as the others and would cost a whole group its steps, so all layers work in
another basis, the discrete cosine transform's, in which no entry stands out: norms do not change under it, and the
matrices take it in (QuaRot, Ashkboos et al. 2024, section 4).

Dimensions in comments: N tokens, E width of the model, F width between the two halves of a layer's MLP.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.fft import dct
from torch import Tensor

from pearl.runtime.silent_openvino import Core, Model, integers, ops
from retriever.models.hardware import CPU_INFO
from retriever.models.packed import Layer, PackedLayer, PackedLlama
from retriever.models.quantized import packed

Node = Any
GROUP = 32  # inputs that share a scale; with 64 the gains are half as far off again, and come no sooner
ROWS = 256  # of a run; with any number of rows OpenVINO would prepare every matrix anew for each number
WORDS_ROWS = 64  # of a run of the head, whose rows of logits are long
VNNI = {"avx512_vnni", "avx_vnni"}  # as Linux names what a processor can do


class RoundedLlama(PackedLlama):
    """A packed Llama that multiplies bytes."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        width = model.config.hidden_size
        states = ops.parameter([WORDS_ROWS, width], np.float32)
        words = _reading(model.get_output_embeddings().weight, self._last_norm)
        self.head = Rows(_product(_even(states, self._epsilon), words), [states])

    @staticmethod
    def can_run(model: Any) -> bool:
        """True for a Llama that can be packed, in float32, and whose matrices have whole groups."""
        if not PackedLlama.can_run(model) or model.dtype != torch.float32:
            return False
        layer = model.model.layers[0]
        inputs = (layer.self_attn.q_proj, layer.self_attn.o_proj, layer.mlp.down_proj)
        return not any(module.in_features % GROUP for module in inputs)

    def _layer(self, layer: PackedLayer) -> Layer:
        return RoundedLayer(layer)

    def _begun(self, states: Tensor) -> Tensor:
        return states @ _basis(states.shape[1]).T

    def _ended(self, states: Tensor) -> Tensor:
        return states


class RoundedLayer:
    """A layer's matrices and norms as two graphs, before its attention and behind it."""

    def __init__(self, layer: PackedLayer) -> None:
        width, between = len(layer.output), layer.down.shape[1]
        states = ops.parameter([ROWS, width], np.float32)
        heads = _product(_even(states, layer.epsilon), _reading(layer.query_key_value, layer.attention_norm))
        self.before = Rows(heads, [states])

        states, attended = (ops.parameter([ROWS, size], np.float32) for size in layer.output.shape)
        attending = ops.add(states, _product(attended, _writing(layer.output)))
        inner = _product(_even(attending, layer.epsilon), _reading(layer.gate_up, layer.mlp_norm))
        gate, up = ops.variadic_split(inner, integers(1), integers([between, between])).outputs()  # (N, F) each
        added = _product(ops.multiply(ops.swish(gate), up), _writing(layer.down))
        self.behind = Rows(ops.add(attending, added), [states, attended])


class Rows:
    """A graph over a fixed number of rows, run over any number of them; one thread uses it at a time.

    Numpy cuts and joins the rows: torch's threads, awake for each copy, would take the cores from OpenVINO's.
    """

    def __init__(self, output: Node, parameters: Sequence[Node]) -> None:
        options = {
            "NUM_STREAMS": "1",
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "ENABLE_CPU_PINNING": False,  # other programs want these cores, too
            "INFERENCE_PRECISION_HINT": "f32",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": str(GROUP),
        }
        compiled = _core().compile_model(Model([output], list(parameters)), "CPU", options)
        self._rows, self._width = compiled.output(0).shape
        self._request = compiled.create_infer_request()

    def __call__(self, *inputs: Tensor) -> Tensor:
        """(N, outputs) of inputs with N rows each."""
        arrays = [rows.numpy() for rows in inputs]
        count = len(arrays[0])
        outputs = np.empty((count, self._width), np.float32)
        for start in range(0, count, self._rows):
            parts = [rows[start : start + self._rows] for rows in arrays]
            lacking = self._rows - len(parts[0])
            if lacking:
                parts = [np.pad(rows, ((0, lacking), (0, 0))) for rows in parts]
            self._request.infer(parts, share_inputs=True, share_outputs=True)
            outputs[start : start + self._rows] = self._request.get_output_tensor().data[: self._rows - lacking]
        return torch.from_numpy(outputs)


def _reading(matrix: Tensor, norm: Tensor) -> NDArray[np.float32]:
    """A matrix, (outputs, E), for states in the other basis; it takes the norm's weights in, which stand before it."""
    states = matrix.detach() * norm.detach()
    return (states @ _basis(matrix.shape[1]).T).numpy()


def _writing(matrix: Tensor) -> NDArray[np.float32]:
    """A matrix, (E, inputs), whose outputs are in the other basis."""
    return (_basis(len(matrix)) @ matrix.detach()).numpy()


def _even(states: Node, epsilon: float) -> Node:
    """The states divided by the root of their mean square, (N, E)."""
    squares = ops.reduce_mean(ops.multiply(states, states), integers(1), True)
    return ops.divide(states, ops.sqrt(ops.add(squares, ops.constant(np.float32(epsilon)))))


def _product(values: Node, matrix: NDArray[np.float32]) -> Node:
    """The values times the matrix in bytes, transposed; each group of a row has a scale."""
    rows, columns = matrix.shape
    steps, scales = packed(matrix.reshape(-1, GROUP))
    groups = [ops.constant(part.reshape(rows, columns // GROUP, -1)) for part in (steps, scales)]
    unpacked = ops.multiply(ops.convert(groups[0], "f32"), groups[1])
    return ops.matmul(values, ops.reshape(unpacked, integers([rows, columns]), False), False, True)


@cache
def _core() -> Core:
    return Core()


@cache
def _basis(width: int) -> Tensor:
    """(E, E), orthonormal: times a column of states it is that column in the other basis."""
    return torch.from_numpy(dct(np.eye(width, dtype=np.float32), axis=0, norm="ortho"))


@cache
def multiplies_bytes(cpu_info: Path = CPU_INFO) -> bool:
    """True when this processor adds up products of bytes (VNNI), and OpenVINO may use that; False if the system does
    not say. A flag and no measurement, so that a machine's scores are always made alike."""
    try:
        if VNNI.isdisjoint(cpu_info.read_text(encoding="utf-8").split()):
            return False
        values = ops.parameter([1, GROUP], np.float32)
        Rows(_product(values, np.ones((GROUP, GROUP), np.float32)), [values])
    except (OSError, RuntimeError):  # ONEDNN_MAX_CPU_ISA forbids it
        return False
    return True
