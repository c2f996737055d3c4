"""Scorers of writing quality: reward models, and what length, position, repetition and marks alone say of a text or
pair."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from eval.recorded.quality.perplexity import perplexity
from pearl.errors import InputError
from pearl.options import known
from pearl.stats import Floats
from retriever.history.lexical import words
from retriever.reward.originals import preferred_versions
from retriever.reward.records import QualityPair, read_quality

if TYPE_CHECKING:
    from retriever.reward.model import RewardModel

Scores = Callable[[Sequence[str]], Sequence[float] | Floats]

SENTENCE = re.compile(r"(?<=[.!?])[\"”’')]*\s+")
MARKS = (",", ";", ":", "—", "?", "!", "(", '"')
LONG = 7  # letters
PENALTY = 1.0  # the usual one


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
    """A scorer that sees one text at a time. ``scores`` are higher for better texts."""

    name: str
    description: str
    scores: Scores

    def margins(self, pairs: Sequence[QualityPair]) -> Floats:
        scores = np.array(self.scores([text for pair in pairs for text in (pair.first, pair.second)]), float)
        return np.asarray(scores[0::2] - scores[1::2])


@dataclass(frozen=True, slots=True)
class FirstScorer:
    name: str = "first"
    description: str = "always the first text"

    def margins(self, pairs: Sequence[QualityPair]) -> Floats:
        return np.ones(len(pairs))


@dataclass(frozen=True, slots=True)
class RewardScorer:
    """``name`` is the folder as it was given."""

    name: str
    model: RewardModel

    @classmethod
    def load(cls, name: str) -> RewardScorer:
        """The scorer of a folder, or of ``embedded``. Raises InputError for what is no reward model."""
        from retriever.reward.model import RewardModel

        return cls(name, RewardModel.load(name))

    @property
    def description(self) -> str:
        artifact = self.model.artifact
        return f"the text that the reward model {artifact.variant} on {artifact.base} prefers, by {artifact.pairs}"

    def margins(self, pairs: Sequence[QualityPair]) -> Floats:
        """(N,): above 0 where the model prefers the first text."""
        return self.model.prefer([pair.first for pair in pairs], [pair.second for pair in pairs])


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


SCORERS: tuple[PairScorer, ...] = (
    TextScorer("shorter", "the text with fewer characters", _of_each(lambda text: -len(text.strip()))),
    TextScorer("longer", "the text with more characters", _of_each(lambda text: len(text.strip()))),
    FirstScorer(),
    TextScorer("compression", "the text that zlib compresses less: it repeats itself less", _of_each(compression)),
    TextScorer("type_token", "the text with the larger share of different words", _of_each(type_token)),
)
PERPLEXITY = TextScorer("perplexity", "the text that the embedded model finds less likely a token", perplexity)
BY_NAME = {scorer.name: scorer for scorer in (*SCORERS, PERPLEXITY)}
OF_TEXTS = {name: scorer for name, scorer in BY_NAME.items() if isinstance(scorer, TextScorer)}


@dataclass(frozen=True, slots=True)
class SurfaceScorer:
    """A linear model on what the surface of a text shows, fitted on the pairs that a reward model was trained on:
    ``weights`` of the differences of two texts' features, in standard deviations ``scale``."""

    weights: Floats
    scale: Floats
    name: str = "surface"
    description: str = "a logistic regression on lengths, sentences, marks and repetition, fitted on --trained-on"

    @classmethod
    def fitted(cls, files: Sequence[Path]) -> SurfaceScorer | None:
        """The model that the pairs of the files give; None for files without any."""
        from sklearn.linear_model import LogisticRegression

        pairs = preferred_versions([record for path in files for record in read_quality(path)])
        if not pairs:
            return None
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        of_text = dict(zip(texts, surface_features(texts), strict=True))
        scale = np.std(list(of_text.values()), axis=0) + 1e-9
        gaps = np.array([of_text[better] - of_text[worse] for better, worse in pairs]) / scale
        fit = LogisticRegression(C=PENALTY, fit_intercept=False, max_iter=1000)
        fit.fit(np.concatenate((gaps, -gaps)), np.repeat((1, 0), len(gaps)))
        return cls(np.asarray(fit.coef_[0], float), scale)

    def margins(self, pairs: Sequence[QualityPair]) -> Floats:
        """(N,): the log-odds that the first text is the better one."""
        gaps = surface_features([pair.first for pair in pairs]) - surface_features([pair.second for pair in pairs])
        return np.asarray(gaps / self.scale @ self.weights)


def surface_features(texts: Sequence[str]) -> Floats:
    """(N, F)"""
    return np.array([_features(text) for text in texts])


def _features(text: str) -> list[float]:
    of_text = words(text) or [""]
    lengths = np.array([len(word) for word in of_text], float)
    sentences = np.array([len(part.split()) for part in SENTENCE.split(text) if part.strip()] or [1], float)
    number = len(of_text)
    return [
        np.log(number),
        len(sentences) / number,
        float(sentences.mean()),
        float(np.log(sentences.clip(1)).std()),
        float(lengths.mean()),
        float((lengths > LONG).mean()),
        type_token(text),
        compression(text),
        sum(word.endswith("ly") for word in of_text) / number,
        sum(word.endswith("ing") for word in of_text) / number,
        *(text.count(mark) / number for mark in MARKS),
    ]


def correct(margins: Floats, pairs: Sequence[QualityPair], seed: int) -> tuple[Floats, int]:
    """1 where a scorer with these margins prefers the text that people do, else 0, (N,); and the number of ties,
    decided by a coin. A pair of which the scorer says nothing is not correct."""
    coins = np.random.default_rng(seed).choice((-1.0, 1.0), len(pairs))
    ties = margins == 0
    signs = np.sign(np.where(ties, coins, margins))
    wanted = np.array([1.0 if pair.preferred == 1 else -1.0 for pair in pairs])
    return (signs == wanted).astype(float), int(ties.sum())


def text_scorer(scorer: str | None, model: str | None) -> TextScorer | None:
    """The trivial scorer of a name, or a reward model; None where neither is given. Raises InputError for both."""
    if scorer is not None and model is not None:
        raise InputError("--scorer and --model are two ways to score; give one.", param="scorer")
    if model is not None:
        return reward_scorer(model)
    return None if scorer is None else OF_TEXTS[known("scorer", scorer, OF_TEXTS)]


def reward_scorer(model: str) -> TextScorer:
    """Raises InputError for what is no reward model, or one that only decides pairs."""
    from retriever.reward.scores import load_scores

    return TextScorer(model, f"the text that {model} scores higher", load_scores(model, f"--model {model}"))
