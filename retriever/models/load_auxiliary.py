"""The auxiliary model by its name: causal or encoder-decoder, and in which arithmetic. It needs torch, so import it on
use.
"""

from __future__ import annotations

import torch
from safetensors import SafetensorError

from pearl.errors import InputError
from pearl.settings import EMBEDDED
from retriever.models.auxiliary import AUTO, BFLOAT16, DTYPES, FLOAT32, AuxiliaryModel
from retriever.models.causal import CausalAuxiliary
from retriever.models.hardware import device_named, prefers_bfloat16
from retriever.models.seq2seq import Seq2SeqAuxiliary


def load_auxiliary(name: str, *, device: str = "cpu", dtype: str = AUTO) -> AuxiliaryModel:
    """``embedded`` (SmolLM2), or a transformers model, causal or seq2seq, by name or folder.

    ``dtype`` ``auto`` is bfloat16 where it is fast, else float32. Raises InputError.
    """
    from transformers import AutoConfig
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    torch_device = device_named(device)
    kind = torch.bfloat16 if arithmetic_of(torch_device.type, dtype) == BFLOAT16 else torch.float32
    try:
        if name == EMBEDDED:
            return CausalAuxiliary.embedded(torch_device, kind)
        if not AutoConfig.from_pretrained(name).is_encoder_decoder:
            return CausalAuxiliary.load(name, torch_device, kind)
        return Seq2SeqAuxiliary.load(name, torch_device, kind)
    except (OSError, ValueError, SafetensorError) as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(
            f"The auxiliary model '{name}' cannot be loaded ({why}); name a transformers model or folder, "
            f"or '{EMBEDDED}'.",
            param="aux",
            code="model_not_found",
        ) from error


def arithmetic_of(device: str, dtype: str = AUTO) -> str:
    """The one of DTYPES, other than ``auto``, in which a model is computed on a ``device`` of that type, cpu or cuda.
    Raises InputError for any other."""
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype}: there are {', '.join(DTYPES)}.", param="dtype")
    if dtype != AUTO:
        return dtype
    return BFLOAT16 if prefers_bfloat16(device) else FLOAT32
