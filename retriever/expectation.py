"""What the cross-encoder will say of a document, guessed from what the first stage knows of it.

Who is read, and the score of those who are not, come from it. Over all documents of a history the first stage's score
alone tells less: on dev it follows the logits with r 0.47, this with 0.53.

Dimensions in comments: C candidates, S signals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from retriever.head import Floats


@dataclass(frozen=True, slots=True)
class Expectation:
    """A linear function: the weights of the standardised signals, of the first stage's score, and an intercept,
    (S + 2,)."""

    weights: Floats

    def logits(self, inputs: Floats, first: Floats) -> Floats:
        """(C, S), (C,) -> (C,)"""
        *_, slope, intercept = self.weights
        return np.asarray(inputs @ self.weights[:-2] + slope * first + intercept, np.float32)
