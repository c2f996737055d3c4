"""P-values with Holm's correction, and shares with intervals, for JSON results."""

from __future__ import annotations

from typing import Any

import numpy as np

from pearl.stats.bootstrap import Floats
from pearl.stats.proportions import Interval, holm, wilson

UNBALANCED_P = 0.001


def add_holm(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with ``p_holm`` added, Holm's correction of their ``p_value`` over all rows."""
    corrected = holm([row["p_value"] for row in rows])
    return [row | {"p_holm": p} for row, p in zip(rows, corrected, strict=True)]


def wilson_json(correct: int, total: int) -> dict[str, float] | None:
    return interval_json(wilson(correct, total))


def interval_json(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval.to_json()


def ratio(part: Floats, whole: Floats) -> Floats:
    """``part / whole``, element by element; NaN where the whole is not above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def share(part: int, whole: int) -> float | None:
    """The part divided by the whole; None if the whole is 0."""
    return part / whole if whole else None
