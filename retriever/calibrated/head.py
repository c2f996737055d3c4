"""The scoring models: the head, which predicts the gain from cheap signals; the cascade, which mixes its scores with a
cross-encoder's; and the level, which predicts how much the chosen document helps.

A head that ranks documents well may still misjudge how much the best one helps. So the level is a model of its own, for
the chosen document alone.

Dimensions in comments: C candidates, S signals, M members of the ensemble, H hidden units, I inputs, T trees, N nodes
of all trees.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.clock import Clock
from retriever.base import Positions, Scores, best_first

Floats = NDArray[np.float32]

CLIP = 5.0  # standard deviations: a signal far outside what was seen in training says no more than one at its edge


@dataclass(frozen=True, slots=True)
class SignalHead:
    """Predicts the gain from signals: the mean of small networks with two hidden layers and a direct linear layer."""

    mean: Floats  # (S,)
    scale: Floats  # standard deviation, (S,)
    inner: Floats  # (M, S, H)
    inner_bias: Floats  # (M, H)
    middle: Floats  # (M, H, H)
    middle_bias: Floats  # (M, H)
    outer: Floats  # (M, H)
    direct: Floats  # the linear layer, (M, S)
    bias: Floats  # (M,)

    def inputs(self, signals: Floats) -> Floats:
        """Standardise signals, (C, S), and clip outliers. A signal that is not known yet (NaN) becomes 0, its mean in
        training."""
        return np.asarray(np.nan_to_num(np.clip((signals - self.mean) / self.scale, -CLIP, CLIP)), np.float32)

    def logits(self, signals: Floats) -> Floats:
        """Predict each document's score from its signals: (C, S) -> (C,)."""
        inputs = self.inputs(signals)
        hidden = silu(np.einsum("cs,msh->mch", inputs, self.inner, optimize=True) + self.inner_bias[:, None])
        hidden = silu(hidden @ self.middle + self.middle_bias[:, None])  # (M, C, H)
        logits = np.einsum("mch,mh->mc", hidden, self.outer) + self.direct @ inputs.T + self.bias[:, None]
        return np.asarray(logits.mean(axis=0), np.float32)

    def tensors(self) -> dict[str, Floats]:
        """Return the weights by name, for saving."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, Floats]) -> SignalHead:
        """Make a head from weights by name; other weights are ignored."""
        return cls(**{field.name: np.asarray(tensors[field.name], np.float32) for field in fields(cls)})


def silent(head: SignalHead) -> SignalHead:
    """Return a head that scores every document 0, so that only the cross-encoder's logits count."""
    return replace(
        head, outer=np.zeros_like(head.outer), direct=np.zeros_like(head.direct), bias=np.zeros_like(head.bias)
    )


def silu(x: Floats) -> Floats:
    return np.asarray(x / (1.0 + np.exp(-np.clip(x, -60.0, 60.0))), np.float32)


MOST = 32
AT_ONCE = 16  # documents read before looking at the clock again; fewer are not read side by side

Reader = Callable[[Iterable[Positions]], Generator[Scores, None, None]]


@dataclass(frozen=True, slots=True)
class Cascade:
    """Lets a cross-encoder read the documents with the best first scores, and mixes its logits into these scores."""

    most: int = MOST  # documents to read
    weight: float = 1.0  # of the logit; the first stage's score has the rest

    def scores(self, first: Scores, read: Reader, clock: Clock) -> Scores:
        """Return scores, (C,): the head's scores ``first``, into which logits are mixed for the best documents.
        ``read``: yields the logits of batches of positions. If the clock is late, ``first`` is returned unchanged."""
        best = best_first(first)[: self.most]
        scores = first.copy()
        parts = [best[start : start + AT_ONCE] for start in range(0, len(best), AT_ONCE)]
        with closing(read(parts)) as logits:
            for some in parts:
                if clock.is_late:
                    clock.cut_short = True
                    return first
                scores[some] = (1 - self.weight) * first[some] + self.weight * next(logits)
        return scores


PREFIX = "level."  # of its tensors' names among the signals'
LEADING = 3  # documents whose mean score is an input


def level_inputs(head: SignalHead, signals: Floats, scores: Floats) -> Floats:
    """Return the inputs of a Level, (I,): the best document's standardised signals and score, the means of the leading
    scores and of all, the standard deviation, and the best document's lead over the second."""
    best = int(scores.argmax())
    ordered = np.sort(scores)[::-1]
    lead = ordered[0] - ordered[1] if len(ordered) > 1 else 0.0
    of_all = (ordered[0], ordered[:LEADING].mean(), ordered.mean(), ordered.std(), lead)
    return np.concatenate((head.inputs(signals[best : best + 1])[0], of_all), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Level:
    """Predicts the chosen document's score by the mean of regression trees. A node's left child is the next node."""

    roots: NDArray[np.int32]  # indices of the trees' first nodes, (T,)
    asked: NDArray[np.int8]  # index of the input that decides, -1 in a leaf, (N,)
    most: Floats  # up to which the input leads to the left child, (N,)
    right: NDArray[np.int32]  # index of the right child, (N,)
    value: Floats  # the score of a leaf, (N,)

    def moved(self, head: SignalHead, signals: Floats, scores: Floats) -> Floats:
        """Add one number to all scores, (C,), so that the best score equals the level's prediction; differences stay
        the same. ``signals``: (C, S)."""
        return scores + np.float32(self.score(level_inputs(head, signals, scores)) - scores.max())

    def score(self, inputs: Floats) -> float:
        """Predict the score of the chosen document from the inputs that ``level_inputs`` returns, (I,)."""
        nodes = self.roots
        while (inner := self.asked[nodes] >= 0).any():
            left = inputs[self.asked[nodes]] <= self.most[nodes]
            nodes = np.where(inner, np.where(left, nodes + 1, self.right[nodes]), nodes)
        return float(self.value[nodes].mean())

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the trees as tensors by name, for saving."""
        return {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, NDArray[Any]]) -> Level | None:
        """Make the trees from tensors by name; None if the tensors hold no trees."""
        if not any(name.startswith(PREFIX) for name in tensors):
            return None
        return cls(**{field.name: tensors[PREFIX + field.name] for field in fields(cls)})
