"""Trivial scorers of writing quality: what length, position and repetition alone say of a pair."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from eval.recorded.quality.perplexity import perplexity
from pearl.stats import Floats
from retriever.history.lexical import words
from retriever.reward.records import QualityPair

Scores = Callable[[Sequence[str]], Sequence[float]]


class PairScorer(Protocol):
    """Anything that prefers one text of a pair: a reward model, a judge, or a rule."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    def margins(self, pairs: Sequence[QualityPair]) -> Floats:
        """(N,): above 0 for the first text, below it for the second, 0 for neither, NaN where it says nothing."""
        ...


@dataclass(frozen=True, slots=True)
class TextScorer:
    """A scorer that sees one text at a time. ``scores`` are higher for better texts; None for the scorer that always
    takes the first one."""

    name: str
    description: str
    scores: Scores | None

    def margins(self, pairs: Sequence[QualityPair]) -> Floats:
        if self.scores is None:
            return np.ones(len(pairs))
        scores = np.array(self.scores([text for pair in pairs for text in (pair.first, pair.second)]), float)
        return np.asarray(scores[0::2] - scores[1::2])


def _of_each(score: Callable[[str], float]) -> Scores:
    return lambda texts: [score(text) for text in texts]


def compression(text: str) -> float:
    """The size of the text under zlib as a share of its own."""
    content = text.encode()
    return len(zlib.compress(content, 9)) / max(len(content), 1)


def type_token(text: str) -> float:
    """The number of different words as a share of all."""
    of_text = words(text)
    return len(set(of_text)) / max(len(of_text), 1)


SCORERS: tuple[TextScorer, ...] = (
    TextScorer("shorter", "the text with fewer characters", _of_each(lambda text: -len(text.strip()))),
    TextScorer("longer", "the text with more characters", _of_each(lambda text: len(text.strip()))),
    TextScorer("first", "always the first text", None),
    TextScorer("compression", "the text that zlib compresses less: it repeats itself less", _of_each(compression)),
    TextScorer("type_token", "the text with the larger share of different words", _of_each(type_token)),
)
PERPLEXITY = TextScorer("perplexity", "the text that the embedded model finds less likely a token", perplexity)
BY_NAME = {scorer.name: scorer for scorer in (*SCORERS, PERPLEXITY)}


def correct(margins: Floats, pairs: Sequence[QualityPair], seed: int) -> tuple[Floats, int]:
    """1 where a scorer with these margins prefers the text that people do, else 0, (N,); and the number of ties,
    decided by a coin. A pair of which the scorer says nothing is not correct."""
    coins = np.random.default_rng(seed).choice((-1.0, 1.0), len(pairs))
    ties = margins == 0
    signs = np.sign(np.where(ties, coins, margins))
    wanted = np.array([1.0 if pair.preferred == 1 else -1.0 for pair in pairs])
    return (signs == wanted).astype(float), int(ties.sum())
