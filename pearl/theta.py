"""Theta, the score below which a draft is revised: a number, ``never`` or ``all``. Training chooses it in
``training/choose/operating_point.py``, the calibration on a person's own texts in ``service/calibrating``."""

from __future__ import annotations

import math
import sys

NEVER, ALL = "never", "all"
EVERYTHING = sys.float_info.max  # above every score; JSON has no infinity


def read_theta(words: str) -> float | None:
    """Read a threshold: a number, "never" (None) or "all". Raises ValueError for anything else."""
    if words in (NEVER, ALL):
        return EVERYTHING if words == ALL else None
    try:
        number = float(words)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"'{words}' is neither a number nor '{NEVER}' or '{ALL}'")
    return number


def theta_json(theta: float | None) -> float | str | None:
    """Return the threshold as reports and artifacts hold it, with ``all`` as a string."""
    return ALL if theta == EVERYTHING else theta


def theta_words(theta: float | str | None, digits: int) -> str:
    """Return the threshold in words or digits, for use in a sentence."""
    if theta is None:
        return NEVER
    return ALL if isinstance(theta, str) or theta == EVERYTHING else score_words(theta, digits)


def score_words(score: float, digits: int) -> str:
    """Format a score, or a difference of scores, with ``digits`` decimals, or more if a small one needs them to show
    two significant digits."""
    return f"{score:.{max(digits, 1 - math.floor(math.log10(abs(score)))) if score else digits}f}"
