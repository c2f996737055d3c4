"""The machine that figures were taken on, for a figure without one says nothing."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
# those whose speed is in the figures
LIBRARIES = (
    "faiss-cpu",
    "fastapi",
    "numpy",
    "openai",
    "openvino",
    "sentence-transformers",
    "sqlalchemy",
    "torch",
    "transformers",
    "uvicorn",
)


@dataclass(frozen=True, slots=True)
class Machine:
    """``load_average`` is that of the minute before the measurements: above 0.5 something else was running."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    python: str
    libraries: dict[str, str]
    date: str
    commit: str | None
    load_average: float


def this_machine() -> Machine:
    return Machine(
        cpu=cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(psutil.virtual_memory().total / 2**30, 1),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        libraries=_versions(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit(),
        load_average=round(os.getloadavg()[0], 2),
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):  # there is not a wheel of each for every machine
            found[name] = version(name)
    return found


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor as the kernel names it, with family and model: virtual machines often hide the marketing name."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    pairs = (line.partition(":")[::2] for line in lines)
    fields = {name.strip(): value.strip() for name, value in pairs}
    if "model name" not in fields:
        return platform.machine()
    numbers = " ".join(f"{name} {fields[name]}" for name in ("cpu family", "model") if name in fields)
    return f"{fields['model name']} ({numbers})"


def commit() -> str | None:
    """The commit that is measured, with a plus where files differ from it; None outside a clone."""
    try:
        asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
