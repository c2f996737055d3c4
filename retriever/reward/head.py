"""The head of a reward model: a score from a paragraph vector.

Dimensions in comments: B paragraphs, V entries of a paragraph vector, H hidden units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOWEST, HIGHEST = 1.0, 10.0  # scores of a paragraph
FARTHEST = 40.0  # logits: beyond it a score is at its end
_erf = np.vectorize(math.erf, otypes=[float])


@dataclass(frozen=True, slots=True)
class ScoreHead:
    """A linear head, or a network with a hidden layer, on standardised vectors."""

    mean: Floats  # (V,)
    scale: Floats  # standard deviation, (V,)
    inner: Floats  # the hidden layer, (H, V); H = 0 without one
    inner_bias: Floats  # (H,)
    outer: Floats  # gives the logit, (H,), or (V,) without a hidden layer
    bias: Floats  # of the logit, (1,)
    ends: Floats  # the scores of a logit of minus and plus infinity, (2,)

    def scores(self, vectors: NDArray[np.floating]) -> Floats:
        """(B, V) -> (B,), from 1 to 10"""
        low, high = self.ends
        scores = low + (high - low) / (1 + np.exp(-np.clip(self.logits(vectors), -FARTHEST, FARTHEST)))
        return np.asarray(np.clip(scores, LOWEST, HIGHEST), np.float64)

    def logits(self, vectors: NDArray[np.floating]) -> Floats:
        """(B, V) -> (B,)"""
        inputs = (vectors.astype(np.float64) - self.mean) / self.scale
        if len(self.inner):
            inputs = _gelu(inputs @ self.inner.T + self.inner_bias)
        return np.asarray(inputs @ self.outer + self.bias[0])

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """The weights by name, to be saved."""
        return {field.name: np.asarray(getattr(self, field.name), np.float32) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, NDArray[np.floating]]) -> ScoreHead:
        """The head made of weights by name."""
        return cls(**{field.name: np.asarray(tensors[field.name], np.float64) for field in fields(cls)})


def _gelu(values: Floats) -> Floats:
    return np.asarray(values * (1 + _erf(values / math.sqrt(2))) / 2)
