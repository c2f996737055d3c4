"""A prediction of the cross-encoder's logit for a document, from what the first stage knows of it.

It decides which documents are read, and is the score of the others. A small network that learned from the cross-encoder
itself: the signals say how alike two texts are, the embeddings what they are about.

Dimensions in comments: C candidates, S signals, E embedding size, H hidden units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from retriever.calibrated.head import Floats, silu
from retriever.history.signals import Features

PREFIX = "expected."  # of its tensors' names among the signals'


@dataclass(frozen=True, slots=True)
class Expectation:
    """A hidden layer beside a linear function. The layer sees the standardised signals and the first stage's score,
    ``known`` (S + 1, H); the embeddings of text and request of a document, ``text`` and ``own`` (E, H); the products of
    either with the embedding of the request that is asked, ``text_asked`` and ``own_asked`` (E, H); and ``bias`` (H,).

    ``outer`` (H,), ``direct`` (S + 1,) and ``intercept`` (1,) make a logit of it.
    """

    known: Floats
    text: Floats
    own: Floats
    text_asked: Floats
    own_asked: Floats
    bias: Floats
    outer: Floats
    direct: Floats
    intercept: Floats

    def logits(self, inputs: Floats, first: Floats, features: Features) -> Floats:
        """(C, S), (C,) -> (C,)"""
        known = np.column_stack((inputs, first))  # (C, S + 1)
        asked = features.request_vector[:, None]  # (E, 1)
        seen = features.text_vectors @ (self.text + asked * self.text_asked)
        seen += features.own_vectors @ (self.own + asked * self.own_asked)
        hidden = known @ self.known + self.bias
        hidden[features.order] += seen
        return np.asarray(silu(hidden) @ self.outer + known @ self.direct + self.intercept, np.float32)

    @classmethod
    def shapes(cls, signals: int, embedding: int, hidden: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights, by field."""
        wide = (embedding, hidden)
        return {
            "known": (signals + 1, hidden),
            "text": wide,
            "own": wide,
            "text_asked": wide,
            "own_asked": wide,
            "bias": (hidden,),
            "outer": (hidden,),
            "direct": (signals + 1,),
            "intercept": (1,),
        }

    def tensors(self) -> dict[str, Floats]:
        """The weights by name, to be saved."""
        return {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, Floats]) -> Expectation | None:
        """The network made of weights by name; None if there are none."""
        if not any(name.startswith(PREFIX) for name in tensors):
            return None
        return cls(**{field.name: np.asarray(tensors[PREFIX + field.name], np.float32) for field in fields(cls)})
