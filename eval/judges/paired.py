"""Two sets of answers to the same questions: McNemar's test of the difference, and Holm's of several such tests."""

from __future__ import annotations

from typing import Any

from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests


def mcnemar(better: int, worse: int) -> float:
    """The exact p-value; equal questions say nothing, and of nothing it is 1."""
    return float(binomtest(better, better + worse).pvalue) if better + worse else 1.0


def add_holm(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each with its ``p_holm`` beside its ``p_value``."""
    corrected = multipletests([row["p_value"] for row in rows], method="holm")[1]
    return [row | {"p_holm": float(p)} for row, p in zip(rows, corrected, strict=True)]
