"""Turns evidence that a person wrote a text into a probability, by logistic regression.

Most people have too few texts to calibrate on alone, so the coefficients are fitted to many held-out people; only the
intercept differs between registers (kinds of text). The size of the history is a variable, since it shifts the ratios
of all texts alike. Longer texts tell more: evidence is weighted by a power of the number of words.
``docs/experiments/likeness_registers.py`` of commit 847c86b2 writes the coefficients, and the registers.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pearl.stats.bootstrap import Floats

FILE = Path(__file__).parent / "calibration.json"
SHIPPED, GIVEN = "shipped", "given"
VARIABLES = ("intercept", "words_ratio", "characters_ratio", "history", "surprise")


@dataclass(frozen=True, slots=True)
class LikenessEvidence:
    """The evidence for and against a person having written a text."""

    words_ratio: float  # mean log ratio of a masked word, person to impostors, in nats
    characters_ratio: float  # the same of a character
    surprise: float  # the impostors' mean surprise at a masked word, in nats
    words: int  # of the text
    history_words: int

    def variables(self) -> Floats:
        """Return the variables of the regression, (V,), before they are weighted by the text's length."""
        return np.array([1.0, self.words_ratio, self.characters_ratio, math.log(self.history_words), self.surprise])


@dataclass(frozen=True, slots=True)
class LikenessCalibration:
    """A fitted logistic regression from evidence to a probability."""

    coefficients: tuple[float, ...]  # of VARIABLES
    power: float  # of the text's length, by which the evidence is weighed
    ranges: tuple[tuple[float, float], ...]  # lowest and highest value of each variable; values outside are clipped

    @classmethod
    def from_json(cls, value: Any) -> LikenessCalibration:
        ranges = (tuple(value["ranges"].get(name, (-math.inf, math.inf))) for name in VARIABLES)
        return cls(tuple(value["coefficients"][name] for name in VARIABLES), value["power"], tuple(ranges))

    def logit(self, evidence: LikenessEvidence) -> float:
        weight = (evidence.words / 100) ** self.power
        known = np.clip(evidence.variables(), *np.array(self.ranges).T)
        return float(weight * (known @ np.array(self.coefficients)))

    def probability(self, evidence: LikenessEvidence) -> float:
        return 1.0 / (1.0 + math.exp(-max(min(self.logit(evidence), 30.0), -30.0)))


@cache
def calibration_for(impostors: str) -> LikenessCalibration:
    """Return the calibration of a shipped register, by its name, or of impostors GIVEN by the caller."""
    return LikenessCalibration.from_json(json.loads(FILE.read_text(encoding="utf-8"))[impostors])
