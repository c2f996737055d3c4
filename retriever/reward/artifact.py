"""The artifact of a reward model: one folder with its weights, configuration and figures.

artifact.json       what it is, how it was trained, the figures, and the digests of all else
head.safetensors    the head; not there in a model that was trained on pairs by their cosine alone
encoder/            the encoder's fitted weights; not there where its base was left as it was
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
    """The contents of ``artifact.json``.

    ``variant``: P, R or PR, what it was trained on. ``base``: the encoder's name and ``base_digest`` its files'.
    ``layers``: those after which the tokens' mean is taken, 0 the embeddings; the means stand side by side.
    ``pairs``: ``cosine`` of two texts read together, or their ``scores``. ``training``: choices, seed and data.
    ``figures``: measured while training, each an interval or a number. ``may_ship``: no trivial rule was better on
    pairs of another kind than it learned from; false where there were none. ``files``: SHA-256 of every other file.
    """

    name: str
    variant: str
    preset: str
    base: str
    base_digest: str
    layers: tuple[int, ...]
    max_tokens: int
    pairs: str
    training: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    may_ship: bool = False
    files: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT
    kind: str = KIND

    @property
    def has_head(self) -> bool:
        return HEAD in self.files

    @property
    def has_encoder(self) -> bool:
        return any(name.startswith(f"{ENCODER}/") for name in self.files)


def reward_folder(name: str | Path) -> Path:
    """The folder of an artifact; ``embedded`` is the one shipped with the package."""
    return SHIPPED if str(name) == EMBEDDED else Path(name)


def write_reward(folder: Path, artifact: RewardArtifact) -> None:
    """Write ``artifact.json`` for the files that stand in the folder; the last step, for it makes them an artifact."""
    content = asdict(artifact) | {"files": carried_files(folder, (MANIFEST, PARTIAL))}
    partial = folder / PARTIAL
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(folder / MANIFEST)


def read_reward(folder: Path) -> RewardArtifact:
    """The manifest of a reward model whose files are all there. Raises InputError for anything else."""
    missing = InputError(
        f"{folder}: is not a reward model: it has no {MANIFEST}. Name '{EMBEDDED}' or a folder that "
        "'pearl train reward' wrote.",
        param="model",
        code="not_an_artifact",
    )
    content = manifest_content(folder / MANIFEST, FORMAT, missing)
    if content.get("kind") != KIND:
        raise InputError(
            f"{folder}: holds another artifact, not a reward model; name a folder that 'pearl train reward' wrote.",
            param="model",
            code="not_an_artifact",
        )
    artifact = manifest_record(RewardArtifact, content, folder / MANIFEST)
    check_carried(folder, artifact.files, (), (MANIFEST, PARTIAL))
    return artifact
