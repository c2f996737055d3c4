"""Running reward models, which score how well paragraphs are written, without torch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from retriever.models.encoder import encoder_option, encoder_source
from retriever.models.files import source_digest
from retriever.reward.artifact import COSINE, ENCODER, HEAD, RewardArtifact, ScoreHead, read_reward, reward_folder
from retriever.reward.vectors import PairVectors, ParagraphVectors, pair_vectors, paragraph_vectors

Floats = NDArray[np.float64]

LEAST, MOST, EVEN = 1e-7, 1.0, 0.5  # of a cosine; above EVEN the first text is the better one, at it the second


class RewardModel:
    """Judges writing quality by scores or by comparing pairs. It is thread-safe."""

    def __init__(self, artifact: RewardArtifact, encoder: Path, head: ScoreHead | None) -> None:
        """``encoder``: the folder of the encoder's weights; ``head``: None if the model only compares pairs."""
        self.artifact = artifact
        self._encoder = encoder
        self._head = head
        self._lock = threading.Lock()
        self._paragraphs: ParagraphVectors | None = None
        self._pairs: PairVectors | None = None

    @classmethod
    def load(cls, folder: str | Path) -> RewardModel:
        """Load a reward model from its folder; ``embedded`` is the one that comes with the package. Raises InputError
        if the folder holds no reward model, if a file is missing, changed or foreign, or if the base encoder is not the
        one in training."""
        from safetensors.numpy import load_file

        folder = reward_folder(folder)
        artifact = read_reward(folder)
        head = ScoreHead.of(load_file(folder / HEAD)) if artifact.has_head else None
        if artifact.has_encoder:
            return cls(artifact, folder / ENCODER, head)
        base = Path(encoder_source(encoder_option(artifact.base)))
        if source_digest(str(base)) != artifact.base_digest:
            raise InputError(
                f"{folder}: was trained on another encoder than the '{artifact.base}' that is installed; install that "
                "one, or train again."
            )
        return cls(artifact, base, head)

    @property
    def scores_paragraphs(self) -> bool:
        """True if the model scores single paragraphs; False if it only compares pairs."""
        return self._head is not None

    def score(self, texts: Sequence[str]) -> Floats:
        """Score texts from 1 to 10, (B,). Raises InputError if a text is empty or if the model only compares pairs."""
        if self._head is None:
            raise InputError(
                f"{self.artifact.name}: was trained on pairs by their cosine and gives no scores; name a model trained "
                "with --variant R or PR."
            )
        _check(texts)
        return self._head.scores(self._ready().of(texts)) if texts else np.empty(0)

    def prefer(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """Compare the two texts of each pair, (B,): positive if the first is better, negative if the second is, 0 for a
        tie. Raises InputError if a text is empty."""
        if self.artifact.pairs != COSINE:
            scores = self.score([*first, *second])
            return scores[: len(first)] - scores[len(first) :]
        _check([*first, *second])
        margins = self._cosines(list(zip(first, second, strict=True))) - EVEN if first else np.empty(0)
        return np.where(margins == 0, -LEAST, margins)

    def _cosines(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        with self._lock:
            if self._pairs is None:
                self._pairs = pair_vectors(self._encoder, self.artifact.max_tokens)
        one, two = np.split(self._pairs.of_pairs(pairs).astype(float), 2, axis=1)
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
        cosines = np.nan_to_num((one * two).sum(axis=1) / np.maximum(lengths, LEAST))
        return np.asarray(np.clip(cosines, LEAST, MOST))

    def _ready(self) -> ParagraphVectors:
        with self._lock:
            if self._paragraphs is None:
                self._paragraphs = paragraph_vectors(self._encoder, self.artifact.layers, self.artifact.max_tokens)
            return self._paragraphs


def _check(texts: Sequence[str]) -> None:
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise InputError(f"paragraph {number} of {len(texts)} is empty.", param="texts", code="empty_text")


def load_scores(name: str, called: str) -> Callable[[Sequence[str]], Floats]:
    """Load a function that scores texts from 1 to 10. ``called``: names the option or setting in errors. Raises
    InputError if the model is unusable or only compares pairs."""
    try:
        model = RewardModel.load(name)
    except InputError as error:
        raise InputError(f"{called}: {error.message}", param="model", code=error.code) from error
    if not model.scores_paragraphs:
        raise InputError(f"{called}: decides pairs and gives no scores; name a model trained with --variant R or PR.")
    return model.score
