"""Runs texts through a BERT-type encoder on the processor, without torch.

Texts of the same length run together in small batches, each batch on one core. So no text is padded to another's
length, outputs do not depend on the other texts, and no core waits for another within a model.

In bfloat16, where it is clearly faster, cosines are off by 6e-5 and logits by 1% of their spread. Elsewhere packed
matrices are multiplied in 8 bits, which puts logits off by 2%.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retriever.models.folder import STEP, BertFolder, Ids, Texts
from retriever.models.graph import Arithmetic, Graph
from retriever.models.hardware import is_clearly_faster

if TYPE_CHECKING:
    from pearl.models.runtime.silent_openvino import Core

Floats = NDArray[np.float32]


CORES = min(os.cpu_count() or 1, 4)  # each costs 12 MB a model
WARM_UP = 8 * STEP  # tokens
TOGETHER = 4  # texts of one length; more hardly gain time, and cost memory


class TextModel:
    """A compiled encoder. It is thread-safe, and calls share the cores."""

    def __init__(self, folder: BertFolder, graph: Graph, arithmetic: Arithmetic | None = None) -> None:
        """Compile the graph. ``arithmetic``: None for the fastest. Raises ValueError if weights are missing."""
        self._folder = folder
        try:
            arithmetic = arithmetic or fastest()
            model = graph(folder.config, folder.weights, arithmetic)
            self._compiled = _core().compile_model(model, "CPU", _options(arithmetic))
        except RuntimeError as error:
            raise ValueError(str(error).strip().rpartition("\n")[2]) from error  # before it, lines of OpenVINO's source
        self._width = self._compiled.output(0).get_partial_shape()[1].get_length()
        # A run on each core, in which it lays the weights out as it reads them; then the file's are not needed.
        tokens = np.ones((3, min(WARM_UP, folder.longest)), np.int32)
        list(self._run([([tokens] * CORES, CORES)], together=1))
        folder.weights.release()

    def ids(self, text: str) -> Ids:
        """Tokenise a text, for callers that keep the tokens to read the text again."""
        return self._folder.ids(text)

    def outputs(self, inputs: Sequence[Texts]) -> Floats:
        """Run the encoder on each input, one text or two; return the outputs, (inputs, width of the graph's output)."""
        [outputs] = self.outputs_of_ids([((tuple(map(self.ids, texts)) for texts in inputs), len(inputs))])
        return outputs

    def outputs_of_ids(self, parts: Iterable[tuple[Iterable[Sequence[Ids]], int]]) -> Generator[Floats, None, None]:
        """Yield the outputs of each part, (count, width), in order. A part is given as its inputs and their count. The
        next part is started early, so that no core is idle; close the generator to stop."""
        return self._run((map(self._folder.tokens, inputs), count) for inputs, count in parts)

    def _run(
        self, parts: Iterable[tuple[Iterable[NDArray[np.int32]], int]], together: int = TOGETHER
    ) -> Generator[Floats, None, None]:
        running: deque[tuple[Floats, list[int], Any]] = deque()
        begun: deque[Floats] = deque()  # parts of which all runs, or has run

        def finished() -> Any:
            outputs, indices, request = running.popleft()
            request.wait()
            outputs[indices] = request.get_output_tensor().data
            return request

        def ended() -> Iterator[Floats]:
            while begun and not any(outputs is begun[0] for outputs, _, _ in running):
                yield begun.popleft()

        try:
            for inputs, count in parts:
                outputs = np.empty((count, self._width), np.float32)
                for indices, tokens in _batches(inputs, together):  # texts become tokens while others run
                    request = finished() if len(running) == CORES else self._compiled.create_infer_request()
                    yield from ended()
                    request.start_async([tokens])
                    running.append((outputs, indices, request))
                begun.append(outputs)
            while running:
                finished()
                yield from ended()
            yield from ended()
        finally:
            for _, _, request in running:
                request.wait()


def _batches(inputs: Iterable[NDArray[np.int32]], together: int) -> Iterator[tuple[list[int], NDArray[np.int32]]]:
    """Yield batches of inputs with the same length: their indices and tokens, (B, 3, T), with B at most
    ``together``."""
    waiting: dict[int, list[tuple[int, NDArray[np.int32]]]] = {}
    for index, tokens in enumerate(inputs):
        group = waiting.setdefault(tokens.shape[1], [])
        group.append((index, tokens))
        if len(group) == together:
            yield _stacked(waiting.pop(tokens.shape[1]))
    yield from map(_stacked, sorted(waiting.values(), key=lambda group: -group[0][1].size * len(group)))


def _stacked(group: list[tuple[int, NDArray[np.int32]]]) -> tuple[list[int], NDArray[np.int32]]:
    indices, tokens = zip(*group, strict=True)
    return list(indices), np.stack(tokens)


@lru_cache(maxsize=1)
def _core() -> Core:
    from threadpoolctl import threadpool_limits

    from pearl.models.runtime.silent_openvino import Core

    # A thread of numpy's BLAS that has done its part of a product looks for more for 30 ms before it sleeps: on two
    # cores a model's streams then took a third longer. One thread does for the products of a history.
    threadpool_limits(1, "blas")
    return Core()


@lru_cache(maxsize=1)
def fastest() -> Arithmetic:
    """Return the fastest arithmetic on this machine: bfloat16 if the processor has it and is clearly faster in it, else
    float32. Without tiles (AMX) bfloat16 took twice as long on one processor."""
    if "BF16" not in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        return Arithmetic.FLOAT32
    try:
        faster = is_clearly_faster(_product(Arithmetic.BFLOAT16), than=_product(Arithmetic.FLOAT32))
    except RuntimeError:  # the environment forbids it to oneDNN, which OpenVINO does not check
        faster = False
    return Arithmetic.BFLOAT16 if faster else Arithmetic.FLOAT32


def _product(arithmetic: Arithmetic) -> Callable[[], object]:
    from pearl.models.runtime.silent_openvino import Model, ops

    rows, matrix = ops.parameter([-1, 512], np.float32), ops.constant(np.ones((1024, 512), np.float32))
    model = Model([ops.matmul(rows, matrix, False, True)], [rows])
    request = _core().compile_model(model, "CPU", _options(arithmetic)).create_infer_request()
    return partial(request.infer, [np.ones((256, 512), np.float32)])


def _options(arithmetic: Arithmetic) -> dict[str, Any]:
    bfloat16 = arithmetic is not Arithmetic.FLOAT32
    return {
        "NUM_STREAMS": str(CORES),
        "INFERENCE_NUM_THREADS": CORES,  # one for each stream
        "ENABLE_CPU_PINNING": False,  # other programs want these cores, too
        "INFERENCE_PRECISION_HINT": "bf16" if bfloat16 else "f32",
        **({"DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"} if bfloat16 else {}),
    }
