"""Telling authors apart by their manner: the cosine of standardised rates (Smith and Aldridge 2011)."""

from __future__ import annotations

import numpy as np

from pearl.manner.traits import TRAITS
from pearl.stats.bootstrap import Floats

MOST = 3.0  # standard deviations; a rare trait found once must not outweigh everything else
TRAIT_WEIGHT = 2.0  # of a trait against a word: there are fewer of them


def likeness_of_manner(card: Floats, texts: Floats) -> float:
    """The cosine of two sets of standardised rates (F,), from -1 to 1."""
    own, others = (_weighted(rates) for rates in (card, texts))
    length = float(np.linalg.norm(own) * np.linalg.norm(others))
    return float(own @ others) / length if length else 0.0


def _weighted(rates: Floats) -> Floats:
    weights = np.ones(len(rates))
    weights[: len(TRAITS)] = TRAIT_WEIGHT
    return np.asarray(weights * np.clip(rates, -MOST, MOST))
