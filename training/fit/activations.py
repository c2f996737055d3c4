"""Ranges of the inputs of a cross-encoder's matrices, for rounding them to bytes (``retriever/models/graph.py``)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from torch import Tensor, nn

from retriever.calibrated.head import Floats
from retriever.models.cross_encoder import Reading
from training.data.records import Example

# What the activation function lets through is so uneven that in bytes it costs most of the precision: on dev the logits
# were off by 6% of their spread with these, by 3% without, and without they still take half the time.
UNEVEN = ".output.dense"
EVEN = ".attention.output.dense"


RANGED = 200  # pairs say what the matrices' inputs are like


def pairs_to_watch(examples: Sequence[Example], reading: Reading, seed: int) -> list[tuple[str, str]]:
    """Some of what the cross-encoder will read."""
    pairs = [reading.pair(example.request.text, document) for example in examples for document in example.documents]
    return random.Random(seed).sample(pairs, min(RANGED, len(pairs)))


def input_ranges(model: Any, pairs: Sequence[tuple[str, str]]) -> dict[str, Floats]:
    """The least and greatest value of each input over the pairs, (2, inputs), by the name of a layer's matrix."""
    ranges: dict[str, Floats] = {}
    with _watched(model.model, ranges):
        model.predict(list(pairs), show_progress_bar=False)
    return ranges


@contextmanager
def _watched(model: nn.Module, ranges: dict[str, Floats]) -> Iterator[None]:
    with ExitStack() as stack:
        for name, module in _matrices(model).items():

            def watch(_: nn.Module, inputs: tuple[Tensor, ...], name: str = f"{name}.weight") -> None:
                rows = inputs[0].detach().float().flatten(0, -2).cpu().numpy()  # (tokens, inputs)
                ends = np.stack((rows.min(axis=0), rows.max(axis=0)))
                if name in ranges:
                    ends = np.stack((np.minimum(ranges[name][0], ends[0]), np.maximum(ranges[name][1], ends[1])))
                ranges[name] = ends

            stack.callback(module.register_forward_pre_hook(watch).remove)
        yield


def _matrices(model: nn.Module) -> Mapping[str, nn.Linear]:
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and ".layer." in name and (name.endswith(EVEN) or not name.endswith(UNEVEN))
    }
