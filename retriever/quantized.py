"""Weights in a quarter of their size: matrices as int8 with one scale a row, everything else as it is.

The rows of a matrix differ in size by orders of magnitude, the values of one row do not: rounding each row to 127
steps moves logits by about as much as bfloat16 does, and a repository can hold the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SCALE = ".scale"
STEPS = 127.0


def write_weights(weights: dict[str, Any], path: Path) -> None:
    """Write a torch state dict; tensors that share their memory are written each on its own."""
    import torch
    from safetensors.torch import save_file

    packed: dict[str, Any] = {}
    for name, tensor in weights.items():
        tensor = tensor.detach().cpu().contiguous()
        if tensor.dim() == 2 and tensor.is_floating_point():
            rows = tensor.float()
            scale = rows.abs().amax(dim=1).clamp(min=1e-12) / STEPS  # (rows,)
            packed[name] = (rows / scale[:, None]).round().to(torch.int8)
            packed[name + SCALE] = scale
        else:
            packed[name] = tensor.clone()
    save_file(packed, path)
    path.chmod(0o644)  # the library lets nobody else read


def read_weights(path: Path) -> dict[str, Any]:
    """The state dict; what was packed is float32 again."""
    from safetensors.torch import load_file

    packed = load_file(path)
    scales = {name + SCALE for name in packed} & packed.keys()
    return {
        name: tensor.float() * packed[name + SCALE][:, None] if name + SCALE in scales else tensor
        for name, tensor in packed.items()
        if name not in scales
    }
