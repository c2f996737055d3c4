"""The trainable form of a reward model's head, and its loss.

Dimensions in comments: B paragraphs or pairs of a batch, V entries of a paragraph vector, H hidden units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from retriever.reward.artifact import HIGHEST, LOWEST, ScoreHead
from retriever.reward.model import LEAST, MOST
from training.reward.config import MLP

CODES_ENDS = (0.0, 10.0)  # ten times a sigmoid
DROPOUT = 0.1  # of the code's head, before its first layer
SLOPE = -1.5  # before softplus
LIKELY = 1e-6  # a cosine of exactly 1 would have an infinite loss


class HeadNetwork(nn.Module):
    """The trainable form of ``ScoreHead``, which computes a text's worth from its vector. The difference of two texts'
    worth is the log-odds that the first text is better; ``slope`` converts worth to the logit of a score."""

    mean: Tensor
    scale: Tensor

    def __init__(self, kind: str, vectors: NDArray[np.floating], seed: int) -> None:
        """Make an untrained head that standardises vectors by those of the training texts, ``vectors`` (N, V)."""
        super().__init__()
        width = vectors.shape[1]
        draw = torch.Generator().manual_seed(seed)
        hidden = max(width // 2, 1) if kind == MLP else 0
        self.register_buffer("mean", torch.tensor(vectors.mean(axis=0), dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(vectors.std(axis=0) + 1e-6, dtype=torch.float32))
        self.inner = nn.Parameter(torch.randn((hidden, width), generator=draw) / width**0.5)
        self.inner_bias = nn.Parameter(torch.zeros(hidden))
        self.outer = nn.Parameter(torch.randn(hidden or width, generator=draw) * (hidden or width) ** -0.5 * 0.1)
        self.bias = nn.Parameter(torch.zeros(1))
        self.slope = nn.Parameter(torch.full((1,), SLOPE))
        self.ends = CODES_ENDS if kind == MLP else (LOWEST, HIGHEST)

    def worth(self, vectors: Tensor) -> Tensor:
        """Return the worth of each text, from which scores and preferences follow: (B, V) -> (B,)."""
        inputs = (vectors - self.mean) / self.scale
        if len(self.inner):
            inputs = nn.functional.dropout(inputs, DROPOUT, self.training)
            inputs = nn.functional.gelu(inputs @ self.inner.T + self.inner_bias)
        return inputs @ self.outer

    def squared_errors(self, vectors: Tensor, scores: Tensor) -> Tensor:
        """Return the squared errors of the predicted scores: vectors (B, V), scores (B,) -> (B,)."""
        low, high = self.ends
        logits = self.worth(vectors) * nn.functional.softplus(self.slope) + self.bias
        return (low + (high - low) * torch.sigmoid(logits) - scores) ** 2

    def preference_losses(self, first: Tensor, second: Tensor, first_is_better: Tensor) -> Tensor:
        """Return the cross-entropy of each pair's preference: vectors (B, V) twice, (B,) -> (B,)."""
        gap = self.worth(first) - self.worth(second)
        return nn.functional.binary_cross_entropy_with_logits(gap, first_is_better.float(), reduction="none")

    def penalty(self) -> Tensor:
        return (self.inner**2).sum() + (self.outer**2).sum()

    def head(self) -> ScoreHead:
        """Return the present weights as a ``ScoreHead``."""
        values: dict[str, Any] = {
            name: getattr(self, name).detach().double().numpy()
            for name in ("mean", "scale", "inner", "inner_bias", "bias")
        }
        outer = (self.outer * nn.functional.softplus(self.slope)).detach().double().numpy()
        return ScoreHead(**values, outer=outer, ends=np.array(self.ends))


def cosine_losses(vectors: Tensor, first_is_better: Tensor) -> Tensor:
    """Return each pair's cross-entropy, with the cosine of its two vectors (clamped as published) as the probability
    that the first text is better: (B, 2 E), (B,) -> (B,)."""
    one, two = vectors.float().chunk(2, dim=1)
    cosines = nn.functional.cosine_similarity(one, two).clamp(LEAST, MOST)
    return nn.functional.binary_cross_entropy(cosines.clamp(max=1 - LIKELY), first_is_better.float(), reduction="none")
