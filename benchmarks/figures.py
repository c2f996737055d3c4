"""Figures and the result files that hold them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import Machine


@dataclass(frozen=True, slots=True)
class Figure:
    """The median over the repetitions, and the least and the most of them; the goal, where there is one."""

    name: str
    label: str
    unit: str
    value: float
    low: float
    high: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the median reaches the goal; None without one."""
        if self.at_least is None and self.at_most is None:
            return None
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What a benchmark comes back with. ``input`` says what it was measured on, in words and counts."""

    repetitions: int
    input: dict[str, Any]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """A result file. ``quick``: a smoke test, whose figures mean nothing."""

    benchmark: str
    title: str
    command: str
    quick: bool
    machine: Machine
    repetitions: int
    input: dict[str, Any] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()

    def figure(self, name: str) -> Figure:
        return next(figure for figure in self.figures if figure.name == name)


def over_repetitions(
    name: str,
    label: str,
    unit: str,
    values: Sequence[float],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """One value a repetition."""
    value, low, high = (_rounded(number) for number in (median(values), min(values), max(values)))
    return Figure(name, label, unit, value, low, high, at_least, at_most)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of the values do not exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)]


def _rounded(value: float) -> float:
    """Four significant digits, more than these measurements are good for; whole numbers stay whole."""
    return float(f"{value:.4g}") if abs(value) < 10_000 else float(round(value))


def write_result(result: Result, folder: Path) -> Path:
    path = folder / f"{result.benchmark}.json"
    path.write_text(json.dumps(_fields(result), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _fields(result: Result) -> dict[str, Any]:
    fields = asdict(result)
    for shown, figure in zip(fields["figures"], result.figures, strict=True):
        goal = {name: shown.pop(name) for name in ("at_least", "at_most")}
        if figure.reached is not None:
            shown |= {name: bound for name, bound in goal.items() if bound is not None} | {"reached": figure.reached}
    return fields


def read_result(path: Path) -> Result:
    fields = json.loads(path.read_text(encoding="utf-8"))
    figures = tuple(
        Figure(**{name: value for name, value in figure.items() if name != "reached"}) for figure in fields["figures"]
    )
    return Result(**{**fields, "machine": Machine(**fields["machine"]), "figures": figures})


def read_results(folder: Path) -> list[Result]:
    return [read_result(path) for path in sorted(folder.glob("*.json"))]
