"""The certainty from which on a judge may be trusted: below it, it had better abstain.

Thresholds are tested from the most certain down, each against the wanted risk by Clopper and Pearson's bound, until one
fails (fixed-sequence testing, as in Learn then Test, Angelopoulos et al. 2021). So the promise, an error of at most the
risk among what is answered, is broken in at most a share of 1 - confidence of all such calibrations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pearl.stats.bootstrap import Floats


@dataclass(frozen=True, slots=True)
class Threshold:
    """The labelled items with at least this ``certainty``, those ``wrong`` among them, the ``bound`` of the error."""

    certainty: float
    labelled: int
    wrong: int
    bound: float


def fixed_sequence(certainty: Floats, wrong: NDArray[np.bool_], risk: float, confidence: float) -> Iterator[Threshold]:
    """Yield the thresholds tested, the last of them the first that fails, if one does. Items without a certainty are
    NaN.

    Thresholds that too few items reach for any bound to hold are passed over: how many, certainty alone decides.
    """
    fewest = math.log(1 - confidence) / math.log(1 - risk)
    for level in np.unique(certainty[np.isfinite(certainty)])[::-1]:
        reached = certainty >= level
        number = int(reached.sum())
        if number < fewest:
            continue
        mistakes = int((reached & wrong).sum())
        step = Threshold(float(level), number, mistakes, upper_bound(mistakes, number, confidence))
        yield step
        if step.bound > risk:
            return


def trusted_from(steps: list[Threshold], risk: float) -> Threshold | None:
    """The lowest threshold before the first that fails; None where the first does, or none was tested."""
    held = [step for step in steps if step.bound <= risk]
    return held[-1] if held else None


def upper_bound(wrong: int, number: int, confidence: float) -> float:
    """Clopper and Pearson's one-sided upper bound of the error."""
    from scipy.stats import beta

    return 1.0 if wrong == number else float(beta.ppf(confidence, wrong + 1, number - wrong))
