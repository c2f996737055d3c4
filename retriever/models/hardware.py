"""The machine's hardware, and the arithmetic it does quickly."""

from __future__ import annotations

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


def has_bfloat16(device: str = "cpu") -> bool:
    """True when a device, ``cpu`` or ``cuda``, computes in bfloat16 natively, several times as fast as in float32."""
    import torch

    return bool(
        torch.cuda.is_bf16_supported(including_emulation=False)
        if device == "cuda"
        else torch.cpu._is_avx512_bf16_supported()
    )


def has_tiles(cpu_info: Path = CPU_INFO) -> bool:
    """True when the processor multiplies in tiles of bfloat16 (AMX); False if the system does not say."""
    try:
        return "amx_bf16" in cpu_info.read_text(encoding="utf-8").split()
    except OSError:
        return False
