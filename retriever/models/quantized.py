"""Storing weights in a quarter of their size: matrices as int8 with a scale for each row.

The rows of a matrix differ much in size, the values within a row little, so rounding each row to 127 steps changes
logits about as much as bfloat16 does.
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retriever.models.files import saving_tensors

SCALE = ".scale"
STEPS = 127.0
KINDS: dict[str, Any] = {"F32": np.float32, "F16": np.float16, "I8": np.int8, "I64": np.int64}


def write_weights(weights: dict[str, Any], path: Path) -> None:
    """Write a torch state dict with its matrices as int8. Tensors that share memory are written separately."""
    import torch
    from safetensors.torch import save_file

    tensors: dict[str, Any] = {}
    for name, tensor in weights.items():
        tensor = tensor.detach().cpu().contiguous()
        if tensor.dim() == 2 and tensor.is_floating_point():
            values, scale = packed(tensor.float().numpy())
            tensors[name], tensors[name + SCALE] = torch.from_numpy(values), torch.from_numpy(scale[:, 0].copy())
        else:
            tensors[name] = tensor.clone()
    with saving_tensors(path):
        save_file(tensors, path)


def read_weights(path: Path) -> dict[str, Any]:
    """Read a state dict that ``write_weights`` wrote; matrices become float32 again."""
    from safetensors.torch import load_file

    tensors = load_file(path)
    scales = {name + SCALE for name in tensors} & tensors.keys()
    return {
        name: tensor.float() * tensors[name + SCALE][:, None] if name + SCALE in scales else tensor
        for name, tensor in tensors.items()
        if name not in scales
    }


def packed(matrix: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix to int8; return it, (rows, columns), and the rows' scales, (rows, 1)."""
    rows = matrix.astype(np.float32)
    scale = np.abs(rows).max(axis=1, keepdims=True).clip(1e-12) / np.float32(STEPS)
    rows /= scale
    return np.rint(rows, out=rows).astype(np.int8), scale


class MappedWeights:
    """A safetensors file's tensors as memory-mapped numpy arrays, so that memory holds no second copy of a model."""

    def __init__(self, path: Path) -> None:
        """Map the file. Raises OSError if it cannot be read, ValueError if numpy lacks one of its types."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy"):  # which checks that the header and the file fit each other
                pass
        except SafetensorError as error:
            raise ValueError(f"{path.name}: {error}") from error
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)  # arrays must look writable to OpenVINO
        self._start = 8 + int.from_bytes(self._map[:8], "little")
        self._tensors: dict[str, Any] = json.loads(self._map[8 : self._start])
        self._tensors.pop("__metadata__", None)
        self._name = path.name
        if unknown := {tensor["dtype"] for tensor in self._tensors.values()} - KINDS.keys():
            raise ValueError(f"{path.name}: its tensors have types that cannot be read: {', '.join(sorted(unknown))}")

    @property
    def names(self) -> list[str]:
        return list(self._tensors)

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a tensor's values; int8 for a packed matrix. Raises ValueError if there is no such tensor."""
        if name not in self:
            raise ValueError(f"{self._name}: has no tensor '{name}'")
        tensor = self._tensors[name]
        start, end = tensor["data_offsets"]
        kind = np.dtype(KINDS[tensor["dtype"]])
        values = np.frombuffer(self._map, kind, (end - start) // kind.itemsize, self._start + start)
        return values.reshape(tensor["shape"])

    def scale_of(self, name: str) -> NDArray[Any] | None:
        """Return the scales of a packed matrix's rows, (rows, 1); None for other tensors."""
        return self[name + SCALE][:, None] if name + SCALE in self else None

    def release(self) -> None:
        """Free the memory of what was read; it can be read again from the file."""
        if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            self._map.madvise(mmap.MADV_DONTNEED)
