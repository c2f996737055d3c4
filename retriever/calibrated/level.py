"""The level of a score: by how much the document that was chosen is expected to help.

Comparing documents tells which helps most, but not by how much: a head that chooses well among commits chooses well
among mails, but its score means less there. So the level is another model, of the chosen document alone.
Dimensions in comments: C candidates, S signals, I inputs, T trees, N nodes of all trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retriever.calibrated.head import Floats, SignalHead

PREFIX = "level."  # of its tensors' names among the signals'
LEADING = 3  # documents whose mean score is an input


def level_inputs(head: SignalHead, signals: Floats, scores: Floats) -> Floats:
    """(I,), from the signals of all documents, (C, S), and their scores, (C,): the best one's signals as the head sees
    them, its score, the mean of the leading scores and of all, their spread, and the best one's lead over the second.
    """
    best = int(scores.argmax())
    ordered = np.sort(scores)[::-1]
    lead = ordered[0] - ordered[1] if len(ordered) > 1 else 0.0
    of_all = (ordered[0], ordered[:LEADING].mean(), ordered.mean(), ordered.std(), lead)
    return np.concatenate((head.inputs(signals[best : best + 1])[0], of_all), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Level:
    """The mean over regression trees, in which a node's left child follows it."""

    roots: NDArray[np.int32]  # indices of the trees' first nodes, (T,)
    asked: NDArray[np.int8]  # index of the input that decides, -1 in a leaf, (N,)
    most: Floats  # up to which the input leads to the left child, (N,)
    right: NDArray[np.int32]  # index of the right child, (N,)
    value: Floats  # the score of a leaf, (N,)

    def moved(self, head: SignalHead, signals: Floats, scores: Floats) -> Floats:
        """The head's scores, (C,), all moved by as much as brings the best one to its level: no order and no distance
        changes. ``signals`` (C, S)."""
        return scores + np.float32(self.score(level_inputs(head, signals, scores)) - scores.max())

    def score(self, inputs: Floats) -> float:
        """The score of the chosen document by its inputs, (I,)."""
        nodes = self.roots
        while (inner := self.asked[nodes] >= 0).any():
            left = inputs[self.asked[nodes]] <= self.most[nodes]
            nodes = np.where(inner, np.where(left, nodes + 1, self.right[nodes]), nodes)
        return float(self.value[nodes].mean())

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The trees by name, to be saved."""
        return {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, NDArray[Any]]) -> Level | None:
        """The trees made of tensors by name; None if there are none."""
        if not any(name.startswith(PREFIX) for name in tensors):
            return None
        return cls(**{field.name: tensors[PREFIX + field.name] for field in fields(cls)})
