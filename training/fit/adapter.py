"""Training of a low-rank difference in place of a cross-encoder's own weights (LoRA, Hu et al. 2021, through peft).

Dimensions in comments: O outputs and I inputs of a matrix, R rank.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from pearl.errors import InputError
from retriever.models.adapter import DOWN, FACTORS, UP, WEIGHTS, Adapter, base_digest, base_folder
from retriever.models.encoder import NAMES
from retriever.models.files import saving_tensors
from retriever.models.quantized import MappedWeights

ALPHA = 2  # times the rank: the difference is multiplied by it


def add_adapter(model: Any, rank: int, frozen: Iterable[nn.Module]) -> None:
    """Freeze the pretrained weights and lay a trainable difference of this rank, 0 at first, beside each matrix outside
    of the ``frozen`` layers. The last layers, which are new, are trained whole."""
    from peft import LoraConfig, inject_adapter_in_model

    inner = model.model
    left = {module for layer in frozen for module in layer.modules()}
    prefix = _prefix(inner)
    names = [
        name
        for name, module in inner.named_modules()
        if isinstance(module, nn.Linear) and name.startswith(prefix) and module not in left
    ]
    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=ALPHA * rank, target_modules=names), inner)
    for name, weights in inner.named_parameters():
        if not name.startswith(prefix):
            weights.requires_grad_(True)


def _prefix(inner: Any) -> str:
    return f"{inner.base_model_prefix}."


def save_adapter(model: Any, base: str, folder: Path) -> None:
    """Write the difference as ``retriever.models.adapter`` reads it. Afterwards the model is a plain one of the same
    logits.

    Raises InputError for a base whose tensors have other names than the model's.
    """
    from peft.tuners.lora import LoraLayer
    from safetensors.torch import save_file

    inner, prefix = model.model, _prefix(model.model)
    tensors: dict[str, Tensor] = {}
    rank = 0
    adapted: list[tuple[str, Any]] = [pair for pair in inner.named_modules() if isinstance(pair[1], LoraLayer)]
    for name, module in adapted:
        down, up = module.lora_A["default"].weight, module.lora_B["default"].weight  # (R, I), (O, R)
        rank = len(down)
        tensors |= {f"{name}.weight{DOWN}": down, f"{name}.weight{UP}": up * module.scaling["default"]}
        module.merge()
        parent, _, last = name.rpartition(".")
        setattr(inner.get_submodule(parent), last, module.get_base_layer())
    weights = inner.state_dict()
    tensors |= {name: values for name, values in weights.items() if not name.startswith(prefix)}
    source = base_folder(base)
    given = {name.removeprefix(prefix): name for name in MappedWeights(source / WEIGHTS).names}
    kept = {name.removeprefix(prefix) for name in weights if name.startswith(prefix)}
    if missing := sorted(kept - given.keys()):
        raise InputError(
            f"--lora: the weights of '{base}' have no tensor '{missing[0]}' to add to; train without --lora.",
            param="lora",
        )
    left_out = tuple(sorted(name for bare, name in given.items() if bare not in kept))
    stored = {name: values.detach().half().cpu().contiguous() for name, values in tensors.items()}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with saving_tensors(folder / FACTORS) as file:
        save_file(stored, file)
    inner.config.save_pretrained(folder)
    named = base if base in NAMES else str(source.resolve())  # wherever it is loaded from
    Adapter(named, base_digest(base, source), rank, prefix, left_out).write(folder)
