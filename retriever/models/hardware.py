"""The machine's hardware, and the arithmetic it does quickly."""

from __future__ import annotations

import timeit
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pearl.errors import InputError

if TYPE_CHECKING:
    import torch

CPU_INFO = Path("/proc/cpuinfo")


def device_named(name: str) -> torch.device:
    """The device of that name. Raises InputError if this machine does not have it."""
    import torch

    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise InputError(f"--device {name}: there are cpu, cuda, and cuda:1 for a second GPU.", param="device")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise InputError(f"--device {name}: there is no such GPU that torch can use; try cpu.", param="device")
    return torch.device(name)


@cache
def prefers_bfloat16(device: str) -> bool:
    """True when a device, ``cpu`` or ``cuda``, multiplies in bfloat16 clearly faster than in float32.

    On a processor it is measured, once a process and in some 30 ms, for having the instructions does not say it:
    without tiles (AMX) such products took 1.3 to 2.3 times as long on one (``docs/experiments.md``).
    """
    import torch
    from torch.nn.functional import linear

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        rows, matrix = torch.ones(256, 512, dtype=dtype), torch.ones(1024, 512, dtype=dtype)
        with torch.inference_mode():
            seconds[dtype] = min(timeit.repeat(partial(linear, rows, matrix), number=1, repeat=8))
    return seconds[torch.bfloat16] < 0.8 * seconds[torch.float32]


def has_tiles(cpu_info: Path = CPU_INFO) -> bool:
    """True when the processor multiplies in tiles of bfloat16 (AMX); False if the system does not say."""
    try:
        return "amx_bf16" in cpu_info.read_text(encoding="utf-8").split()
    except OSError:
        return False
