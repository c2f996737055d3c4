"""A linear model on what the surface of a text shows, fitted on the pairs that a reward model was trained on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.recorded.quality.scorers import compression, type_token
from pearl.stats import Floats
from retriever.history.lexical import words
from retriever.reward.originals import preferred_versions
from retriever.reward.records import QualityPair, read_quality

SURFACE = "surface"
SENTENCE = re.compile(r"(?<=[.!?])[\"”’')]*\s+")
MARKS = (",", ";", ":", "—", "?", "!", "(", '"')
LONG = 7  # letters
PENALTY = 1.0  # the usual one


@dataclass(frozen=True, slots=True)
class SurfaceScorer:
    """``weights`` of the differences of two texts' features, in standard deviations ``scale``."""

    weights: Floats
    scale: Floats
    name: str = SURFACE
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
        first, second = (surface_features(texts) for texts in zip(*((p.first, p.second) for p in pairs), strict=True))
        return np.asarray((first - second) / self.scale @ self.weights)


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
