"""Theta, the score below which a draft is revised: a number, ``never`` or ``all``."""

from __future__ import annotations

import math
import sys

NEVER, ALL = "never", "all"
EVERYTHING = sys.float_info.max  # above every score; JSON has no infinity


def read_theta(words: str) -> float | None:
    """Read a threshold, None for never. Raises ValueError for neither a finite number nor one of the words."""
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
    """The threshold as reports and artifacts have it: ``all`` by its name."""
    return ALL if theta == EVERYTHING else theta


def theta_words(theta: float | str | None, digits: int) -> str:
    """The threshold in a sentence."""
    if theta is None:
        return NEVER
    return ALL if isinstance(theta, str) or theta == EVERYTHING else score_words(theta, digits)


def score_words(score: float, digits: int) -> str:
    """A score, or a difference of scores, with ``digits`` decimals, or more if a small one needs them to keep two
    significant digits."""
    return f"{score:.{max(digits, 1 - math.floor(math.log10(abs(score)))) if score else digits}f}"
