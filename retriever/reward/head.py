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
    """``mean`` and ``scale`` (V,) standardise a vector; ``inner`` (H, V) and ``inner_bias`` (H,) are the hidden layer,
    without rows where there is none; ``outer`` (H,) or (V,) and ``bias`` (1,) give the logit. ``ends`` (2,) are the
    scores that a logit of minus and plus infinity stand for."""

    mean: Floats
    scale: Floats
    inner: Floats
    inner_bias: Floats
    outer: Floats
    bias: Floats
    ends: Floats

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
