"""The devices that the machine can compute with, and whether it is fast in bfloat16."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from pearl.errors import InputError

if TYPE_CHECKING:
    import torch

TURNS = 12


def device_named(name: str) -> torch.device:
    """Return the torch device of that name. Raises InputError if this machine lacks it."""
    import torch

    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise InputError(f"device {name}: there are cpu, cuda, and cuda:1 for a second GPU.", param="device")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise InputError(f"device {name}: there is no such GPU that torch can use; try cpu.", param="device")
    return torch.device(name)


@cache
def prefers_bfloat16(device: str) -> bool:
    """True if a device, ``cpu`` or ``cuda``, multiplies clearly faster in bfloat16 than in float32. For a processor
    this is measured once per process, in about 0.1 s, because having the instructions is not enough
    (``docs/experiments.md``)."""
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    threads = torch.get_num_threads()
    # One thread, in turns: several wait for each other where other programs run, and the answer was chance.
    torch.set_num_threads(1)
    try:
        return is_clearly_faster(_product(torch.bfloat16), than=_product(torch.float32))
    finally:
        torch.set_num_threads(threads)


def is_clearly_faster(some: Callable[[], object], *, than: Callable[[], object]) -> bool:
    """True if the first of two computations takes less than 0.8 of the other's time, each at its best of TURNS."""
    times = [[timeit.timeit(each, number=1) for each in (than, some)] for _ in range(TURNS)]
    other, own = map(min, zip(*times, strict=True))
    return bool(own < 0.8 * other)


def _product(dtype: torch.dtype) -> Callable[[], torch.Tensor]:
    import torch
    from torch.nn.functional import linear

    rows, matrix = torch.ones(256, 512, dtype=dtype), torch.ones(1024, 512, dtype=dtype)
    return torch.inference_mode()(partial(linear, rows, matrix))
