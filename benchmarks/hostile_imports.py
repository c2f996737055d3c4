"""How long importers take on files that were made to keep them busy: eight times the size, how many times the time.

A row makes an input of about n bytes and reads it; what grows with the square of the input shows 64, what is linear 8.
The time is the processor's, the least of several, so that other processes do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Measured, over_repetitions
from service.importers.base import Options, load_importer

NAME = "hostile_imports"
TITLE = "Importing what was made to keep an importer busy"
REPETITIONS, QUICK_REPETITIONS = 5, 1
BYTES = 64_000
TIMES = 8
ATTEMPTS = 3
LINEAR = 24.0  # times the time for eight times the input: half-way, on a logarithmic scale, to the square


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file of about n bytes, named ``file``, that ``importer`` reads whole for the identity ``me``."""

    name: str
    importer: str
    file: str
    make: Callable[[int], bytes]
    me: str = "ann@example.org"

    def seconds(self, size: int) -> float:
        """Processor time of reading it."""
        with TemporaryDirectory(prefix="pearl-bench-") as folder:
            path = Path(folder) / self.file
            path.write_bytes(self.make(size))
            importer, options = load_importer(self.importer), Options(user="ann", me=(self.me,))
            started = time.process_time()
            for _ in importer.read(path, options):
                pass
            return time.process_time() - started

    def growth(self, size: int = BYTES) -> float:
        """How many times longer eight times the input takes."""
        small, large = (min(self.seconds(each) for _ in range(ATTEMPTS)) for each in (size, TIMES * size))
        return large / small


def repeated(piece: str, size: int) -> str:
    """The piece, as often as it takes for about ``size`` characters."""
    return piece * max(1, size // len(piece))


def mail(body: Callable[[int], str], header: str = "") -> Callable[[int], bytes]:
    """Makes an mbox of one mail with this body."""

    def make(size: int) -> bytes:
        lines = [
            "From ann@example.org Mon Mar  3 09:12:00 2025",
            *([header] if header else []),
            "From: Ann <ann@example.org>",
            "Date: Mon, 03 Mar 2025 10:12:00 +0100",
            "Message-ID: <1@example.org>",
            "",
            f"Tea at four.\n{body(size)}\n",
        ]
        return "\n".join(lines).encode()

    return make


def in_mail(name: str, piece: str, header: str = "") -> Hostile:
    """One mail with a piece of text over and over."""
    return Hostile(f"mail: {name}", "mbox", "a.mbox", mail(lambda size: repeated(piece, size), header))


# a row for each shape of input; other importers' rows stand below the mail's
ROWS: tuple[Hostile, ...] = (in_mail("empty lines", "\n"),)


def measure(quick: bool) -> Measured:
    wanted = QUICK_REPETITIONS if quick else REPETITIONS
    figures = tuple(
        over_repetitions(
            row.name, f"{row.name}, eight times the size", "x", [row.growth() for _ in range(wanted)], at_most=LINEAR
        )
        for row in ROWS
    )
    return Measured(wanted, {"corpus": "made for it", "bytes": BYTES, "times": TIMES, "rows": len(ROWS)}, figures)
