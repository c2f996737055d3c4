"""Scorers of writing quality: reward models, and trivial scorers such as length, position, repetition or perplexity."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from pearl.cli.options import known
from pearl.errors import InputError
from pearl.models.runtime.progress import watched
from pearl.settings import EMBEDDED
from pearl.stats.bootstrap import Floats
from retriever.history.lexical import words
from retriever.reward.originals import preferred_versions
from retriever.reward.records import QualityPair, read_quality

if TYPE_CHECKING:
    from retriever.reward.model import RewardModel

TOKENS = 512  # of a text
PROMPT = "A paragraph:\n\n"
TOGETHER = 32  # texts of a batch

Scores = Callable[[Sequence[str]], Sequence[float] | Floats]

SENTENCE = re.compile(r"(?<=[.!?])[\"”’')]*\s+")
MARKS = (",", ";", ":", "—", "?", "!", "(", '"')
LONG = 7  # letters
PENALTY = 1.0  # the usual one


@dataclass(frozen=True, slots=True)
class PairScorer:
    """A scorer that says which text of a pair is better: a reward model, a judge, or a rule."""

    name: str
    description: str
    margins: Callable[[Sequence[QualityPair]], Floats]  # (N,): > 0 for the first, < 0 for the second, NaN if unknown


@dataclass(frozen=True, slots=True)
class TextScorer(PairScorer):
    """A scorer that gives each text a score; the text with the higher score is better."""

    scores: Scores  # higher for better texts

    @classmethod
    def of(cls, name: str, description: str, scores: Scores) -> TextScorer:
        def margins(pairs: Sequence[QualityPair]) -> Floats:
            of_both = np.array(scores([text for pair in pairs for text in (pair.first, pair.second)]), float)
            return np.asarray(of_both[0::2] - of_both[1::2])

        return cls(name, description, margins, scores)


def _of_each(score: Callable[[str], float]) -> Scores:
    return lambda texts: [score(text) for text in texts]


def compression(text: str) -> float:
    """The size of the text compressed by zlib, divided by its uncompressed size."""
    content = text.encode()
    return len(zlib.compress(content, 9)) / max(len(content), 1)


def type_token(text: str) -> float:
    """The type-token ratio: the number of distinct words divided by the number of words."""
    of_text = words(text)
    return len(set(of_text)) / max(len(of_text), 1)


def perplexity(texts: Sequence[str]) -> list[float]:
    """The loss per token of each text, in nats, over its first TOKENS tokens. Raises ChatError without the model."""
    from retriever.models.auxiliary import PairGroup
    from retriever.models.load_auxiliary import load_auxiliary

    model = load_auxiliary(EMBEDDED)
    prompt = (tuple(model.encode(PROMPT)),)
    different = list(dict.fromkeys(texts))
    losses: dict[str, float] = {}
    with watched(Console(stderr=True)) as watch:
        line = watch("perplexity", len(different))
        for start in range(0, len(different), TOGETHER):
            some = different[start : start + TOGETHER]
            found = model.likelihoods([PairGroup(prompt, (tuple(model.encode(text, TOKENS)),)) for text in some])
            for text, (likelihood,) in zip(some, found, strict=True):
                losses[text] = -likelihood.mean
                line.advance()
    return [losses[text] for text in texts]


SCORERS: tuple[PairScorer, ...] = (
    TextScorer.of("shorter", "the text with fewer characters", _of_each(lambda text: -len(text.strip()))),
    TextScorer.of("longer", "the text with more characters", _of_each(lambda text: len(text.strip()))),
    PairScorer("first", "always the first text", lambda pairs: np.ones(len(pairs))),
    TextScorer.of("compression", "the text that zlib compresses less: it repeats itself less", _of_each(compression)),
    TextScorer.of("type_token", "the text with the larger share of different words", _of_each(type_token)),
)
PERPLEXITY = TextScorer.of("perplexity", "the text that the embedded model finds less likely a token", perplexity)
BY_NAME = {scorer.name: scorer for scorer in (*SCORERS, PERPLEXITY)}
OF_TEXTS = {name: scorer for name, scorer in BY_NAME.items() if isinstance(scorer, TextScorer)}


def surface_scorer(files: Sequence[Path]) -> PairScorer | None:
    """A logistic regression on :func:`surface_features`, fitted on the pairs in ``files``. Its margins are the log-odds
    that the first text is better. None if the files have no pairs."""
    from sklearn.linear_model import LogisticRegression

    trained = preferred_versions([record for path in files for record in read_quality(path)])
    if not trained:
        return None
    texts = list(dict.fromkeys(text for pair in trained for text in pair))
    of_text = dict(zip(texts, surface_features(texts), strict=True))
    scale = np.std(list(of_text.values()), axis=0) + 1e-9
    gaps = np.array([of_text[better] - of_text[worse] for better, worse in trained]) / scale
    fit = LogisticRegression(C=PENALTY, fit_intercept=False, max_iter=1000)
    fit.fit(np.concatenate((gaps, -gaps)), np.repeat((1, 0), len(gaps)))
    weights = np.asarray(fit.coef_[0], float)

    def margins(pairs: Sequence[QualityPair]) -> Floats:
        gaps = surface_features([pair.first for pair in pairs]) - surface_features([pair.second for pair in pairs])
        return np.asarray(gaps / scale @ weights)

    says = "a logistic regression on lengths, sentences, marks and repetition, fitted on --trained-on"
    return PairScorer("surface", says, margins)


def surface_features(texts: Sequence[str]) -> Floats:
    """Features of each text's surface (lengths, sentences, repetition, endings and punctuation): (N, F)."""
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
    """Return 1 where a scorer with these ``margins`` prefers the text that people prefer, else 0: (N,). Also return the
    number of ties, which a coin decides. A margin of NaN is not correct."""
    coins = np.random.default_rng(seed).choice((-1.0, 1.0), len(pairs))
    ties = margins == 0
    signs = np.sign(np.where(ties, coins, margins))
    wanted = np.array([1.0 if pair.preferred == 1 else -1.0 for pair in pairs])
    return (signs == wanted).astype(float), int(ties.sum())


def text_scorer(scorer: str | None, model: str | None) -> TextScorer | None:
    """The trivial scorer of this name, or the reward model; None if neither is given. Raises InputError for both."""
    if scorer is not None and model is not None:
        raise InputError("--scorer and --model are two ways to score; give one.")
    if model is not None:
        return reward_scorer(model)
    return None if scorer is None else OF_TEXTS[known("scorer", scorer, OF_TEXTS)]


def reward_scorer(model: str) -> TextScorer:
    """Load a reward model as a scorer. Raises InputError if the folder has none, or one that only compares pairs."""
    from retriever.reward.model import load_scores

    return TextScorer.of(model, f"the text that {model} scores higher", load_scores(model, f"--model {model}"))


def reward_pair_scorer(name: str, model: RewardModel) -> PairScorer:
    """Make a scorer of pairs from a reward model. ``name``: what to call the scorer, such as the model's folder."""
    artifact = model.artifact
    return PairScorer(
        name,
        f"the text that the reward model {artifact.variant} on {artifact.base} prefers, by {artifact.pairs}",
        lambda pairs: model.prefer([pair.first for pair in pairs], [pair.second for pair in pairs]),
    )
