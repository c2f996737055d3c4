"""The speed at which a model reads and writes on this machine: measured with every answer, kept in PEARL_HOME."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import orjson

from pearl.text.files.whole import opened

FILE = "speeds.json"  # in PEARL_HOME
KNOWN_FROM = 48  # tokens read; fewer say little of the speed
RECENT = 4_000.0  # tokens read that count; older ones fade, as what else a machine does changes
PROMPT, ANSWER = 600, 100  # tokens of a usual draft


@dataclass(frozen=True, slots=True)
class Speed:
    """A model's measured speed: the tokens it read and wrote, and the seconds that reading and writing took."""

    read: float = 0.0
    read_s: float = 0.0
    written: float = 0.0
    written_s: float = 0.0

    @classmethod
    def of_timings(cls, timings: Mapping[str, Any]) -> Speed:
        """Read the speed from llama.cpp's timings of one answer. Tokens kept from an earlier prompt do not count as
        read; the time to the first written token counts as reading."""
        read, written = timings.get("prompt_n", 0), max(0, timings.get("predicted_n", 0) - 1)
        return cls(read, timings.get("prompt_ms", 0) / 1000, written, timings.get("predicted_ms", 0) / 1000)

    @property
    def is_known(self) -> bool:
        return self.read >= KNOWN_FROM and self.read_s > 0 and self.written > 0 and self.written_s > 0

    def and_then(self, later: Speed) -> Speed:
        """Return this speed with a later measurement added; old measurements fade once RECENT tokens were read."""
        kept = min(1.0, RECENT / self.read) if self.read else 1.0
        return Speed(*(old * kept + new for old, new in zip(astuple(self), astuple(later), strict=True)))

    def seconds(self, read: float, written: float = 0) -> float:
        """Return the seconds that reading and writing so many tokens takes."""
        return read * self.read_s / self.read + (written * self.written_s / self.written if written else 0)

    def words(self, first_word_s: float) -> str:
        """Describe how fast the model reads and writes, and how long a usual draft takes."""
        return (
            f"reads {self.read / self.read_s:.0f} and writes {self.written / self.written_s:.1f} tokens a second on "
            f"this machine; a draft of {ANSWER} tokens takes about {self.usual_draft_s(first_word_s):.0f} s"
        )

    def usual_draft_s(self, first_word_s: float, times: float = 1.0) -> float:
        """Return the seconds that a usual draft takes. ``first_word_s``: limit on the time to its first word (0: no
        limit); ``times``: how many times as long a slower model takes."""
        return min(times * self.seconds(PROMPT), first_word_s or inf) + times * self.seconds(0, ANSWER)


class Speeds:
    """The speeds of models on this processor, kept in a file in the folder ``home``; in memory only if that is None."""

    def __init__(self, home: Path | None) -> None:
        self._file = None if home is None else home / FILE
        self._speeds = self._read()

    def of(self, model: str) -> Speed:
        """Return the measured speed of a model, given by the digest of its file."""
        return self._speeds.get(_key(model), Speed())

    def add(self, model: str, measured: Speed) -> None:
        """Add a measurement of a model's speed, and write it to the file where that is possible."""
        if not measured.read:  # the answer was left before its first word
            return
        self._speeds = {**self._read(), **self._speeds}  # with other models of other processes
        self._speeds[_key(model)] = self.of(model).and_then(measured)
        if self._file is not None and self._file.parent.is_dir():
            with suppress(OSError), opened(self._file) as file:
                file.write(orjson.dumps({key: astuple(speed) for key, speed in self._speeds.items()}))

    def _read(self) -> dict[str, Speed]:
        if self._file is None:
            return {}
        try:
            kept = orjson.loads(self._file.read_bytes())
            return {key: Speed(*map(float, parts)) for key, parts in kept.items()}
        except (OSError, ValueError, TypeError, AttributeError):  # it is not there yet, or not ours: measure anew
            return {}


def _key(model: str) -> str:
    return f"{model} on {processor()}"


@cache
def processor() -> str:
    """Return the processor's name and number of cores."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {os.cpu_count() or 1}"
