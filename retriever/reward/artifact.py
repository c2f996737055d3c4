"""The artifact of a reward model: a folder with its weights, configuration and figures.

artifact.json       what it is, how it was trained, the figures, and the digests of all other files
head.safetensors    the head; missing if the model was trained only on cosines of pairs
encoder/            the encoder's trained weights; missing if its base was not changed
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.settings import EMBEDDED
from retriever.models.files import carried_files, check_carried, manifest_content, manifest_record

FORMAT = 1
KIND = "reward"
MANIFEST = "artifact.json"
PARTIAL = "artifact.json.partial"
HEAD = "head.safetensors"
ENCODER = "encoder"
SHIPPED = Path(__file__).parent / "embedded"
COSINE, SCORES = "cosine", "scores"  # how a pair is decided


@dataclass(frozen=True, slots=True)
class RewardArtifact:
    """The content of a reward model's ``artifact.json``."""

    name: str
    variant: str  # what it was trained on: P, R or PR
    preset: str
    base: str  # the encoder's name
    base_digest: str  # of the encoder's files
    layers: tuple[int, ...]  # after which the tokens' means are taken and joined; 0 are the embeddings
    max_tokens: int
    pairs: str  # COSINE of two texts read together, or their SCORES
    training: dict[str, Any] = field(default_factory=dict)  # choices, seed and data
    figures: dict[str, Any] = field(default_factory=dict)  # measured while training, each an interval or a number
    # true if no trivial rule was better on pairs of another kind than those in training; false without such pairs
    may_ship: bool = False
    files: dict[str, str] = field(default_factory=dict)  # SHA-256 of every other file
    format: int = FORMAT
    kind: str = KIND

    @property
    def has_head(self) -> bool:
        return HEAD in self.files

    @property
    def has_encoder(self) -> bool:
        return any(name.startswith(f"{ENCODER}/") for name in self.files)


def reward_folder(name: str | Path) -> Path:
    """Return a reward model's folder; ``embedded`` is the model that comes with the package."""
    return SHIPPED if str(name) == EMBEDDED else Path(name)


def write_reward(folder: Path, artifact: RewardArtifact) -> None:
    """Write ``artifact.json``, with digests of the files in the folder. Call it when all other files are written."""
    content = asdict(artifact) | {"files": carried_files(folder, (MANIFEST, PARTIAL))}
    partial = folder / PARTIAL
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(folder / MANIFEST)


def read_reward(folder: Path) -> RewardArtifact:
    """Read the manifest of a reward model and check its files. Raises InputError if anything is wrong."""
    missing = InputError(
        f"{folder}: is not a reward model: it has no {MANIFEST}. Name '{EMBEDDED}' or a folder that "
        "'pearl train reward' wrote."
    )
    content = manifest_content(folder / MANIFEST, FORMAT, missing)
    if content.get("kind") != KIND:
        raise InputError(
            f"{folder}: holds another artifact, not a reward model; name a folder that 'pearl train reward' wrote."
        )
    artifact = manifest_record(RewardArtifact, content, folder / MANIFEST)
    check_carried(folder, artifact.files, (), (MANIFEST, PARTIAL))
    return artifact


Floats = NDArray[np.float64]

LOWEST, HIGHEST = 1.0, 10.0  # scores of a paragraph
FARTHEST = 40.0  # logits: beyond it a score is at its end
_erf = np.vectorize(math.erf, otypes=[float])


@dataclass(frozen=True, slots=True)
class ScoreHead:
    """Scores standardised paragraph vectors by a linear layer, or by a network with a hidden layer."""

    mean: Floats  # (V,)
    scale: Floats  # standard deviation, (V,)
    inner: Floats  # the hidden layer, (H, V); H = 0 without one
    inner_bias: Floats  # (H,)
    outer: Floats  # gives the logit, (H,), or (V,) without a hidden layer
    bias: Floats  # of the logit, (1,)
    ends: Floats  # the scores of a logit of minus and plus infinity, (2,)

    def scores(self, vectors: NDArray[np.floating]) -> Floats:
        """Score paragraph vectors from 1 to 10: (B, V) -> (B,)."""
        low, high = self.ends
        scores = low + (high - low) / (1 + np.exp(-np.clip(self.logits(vectors), -FARTHEST, FARTHEST)))
        return np.asarray(np.clip(scores, LOWEST, HIGHEST), np.float64)

    def logits(self, vectors: NDArray[np.floating]) -> Floats:
        """Return the logits of paragraph vectors, before they are mapped to scores: (B, V) -> (B,)."""
        inputs = (vectors.astype(np.float64) - self.mean) / self.scale
        if len(self.inner):
            inputs = _gelu(inputs @ self.inner.T + self.inner_bias)
        return np.asarray(inputs @ self.outer + self.bias[0])

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Return the weights by name, for saving."""
        return {field.name: np.asarray(getattr(self, field.name), np.float32) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, NDArray[np.floating]]) -> ScoreHead:
        """Make the head from weights by name."""
        return cls(**{field.name: np.asarray(tensors[field.name], np.float64) for field in fields(cls)})


def _gelu(values: Floats) -> Floats:
    return np.asarray(values * (1 + _erf(values / math.sqrt(2))) / 2)
