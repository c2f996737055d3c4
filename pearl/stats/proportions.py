"""Proportions and tests of them in closed form, so that serving needs no statistics library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959963984540054  # of a two-sided 95% interval
DIGITS = 9  # sums over several threads differ behind these


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic's value and its 95% interval."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        return {"value": round(self.value, DIGITS), "low": round(self.low, DIGITS), "high": round(self.high, DIGITS)}


def wilson(successes: float, total: int) -> Interval | None:
    """Return a proportion with Wilson's 95% interval, whose width is not 0 at 0 and 1; None if ``total`` is 0."""
    if total == 0:
        return None
    share, square = successes / total, Z * Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = Z / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    return Interval(share, max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share)))


def even_p(first: int, second: int) -> float:
    """Return the exact two-sided p-value of two counts whose chances are equal, as in a sign test or McNemar's test; 1
    if both are 0."""
    n = first + second
    ways = tail = 1
    for k in range(min(first, second)):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << n))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's step-down method; return them in the order given."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, worst = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = worst
    return corrected
