"""An artifact: a folder with a trained retriever, its configuration, its calibration and its figures.

artifact.json          what it is, what it was trained on and how, the threshold, the figures
signals.safetensors    weights of words, weights of the head, and the trees of the level
cross-encoder/         weights, tokenizer and configuration; missing if the head alone scores
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.theta import ALL, EVERYTHING, theta_json
from retriever.base import Calibration, Helps
from retriever.calibrated.head import MOST, Cascade, Level, SignalHead
from retriever.calibrated.retriever import CalibratedParts, CalibratedRetriever
from retriever.history.signals import NAMES as SIGNAL_NAMES
from retriever.history.word_weights import WordWeights
from retriever.models.cross_encoder import REQUEST_WORDS, CrossEncoderModel, PairReading
from retriever.models.encoder import Encoder, encoder_option
from retriever.models.files import carried_files, check_carried, manifest_content, manifest_record, saving_tensors

FORMAT = 1
MANIFEST = "artifact.json"
PARTIAL = "artifact.json.partial"  # what an interruption left of a manifest
SIGNALS = "signals.safetensors"
CROSS_ENCODER = "cross-encoder"
SHIPPED = Path(__file__).parents[1] / "embedded"


@dataclass(frozen=True, slots=True)
class Artifact:
    """The content of ``artifact.json``; the fields ``threshold`` to ``ask_unrelated`` form its ``calibration``."""

    name: str
    encoder: str
    y0: float  # nats
    tau: float  # nats
    normalize: str
    max_tokens: int  # of the cross-encoder's input
    signals: tuple[str, ...]
    own_requests: bool = True  # the cross-encoder reads the request of each document
    request_words: int = REQUEST_WORDS  # that the cross-encoder reads; artifacts that do not say it read this many
    threshold: float | None = None
    floor: float | None = None
    ask_below: float | None = None
    margin: float | None = None
    helps: Helps | None = None
    thresholds: dict[str, float | None] | None = None
    ask_unrelated: float | None = None
    reranked: int = MOST  # documents that the cross-encoder reads
    weight: float = 1.0  # of the cross-encoder in their scores
    do_not_use: tuple[str, ...] = ()  # why it is not to be used, each a clause
    training: dict[str, Any] = field(default_factory=dict)  # data fingerprints, seeds, options and versions
    figures: dict[str, Any] = field(default_factory=dict)  # measured on held-out users, each an interval
    files: dict[str, str] = field(default_factory=dict)  # SHA-256 of every other file
    format: int = FORMAT

    @property
    def calibration(self) -> Calibration:
        return Calibration(
            self.threshold,
            self.floor,
            self.ask_below,
            self.margin,
            self.helps,
            self.thresholds,
            self.ask_unrelated,
        )

    @property
    def fingerprint(self) -> str:
        """A text that identifies everything that the scores depend on; theta, margin and floors do not count."""
        cascade = [self.reranked, self.weight, None, self.max_tokens]  # None: a bound that artifacts had once
        reading = [self.request_words, self.own_requests]
        # what reads as all earlier artifacts did keeps its name, under which users have calibrated it
        cascade += [] if reading == [REQUEST_WORDS, True] else reading
        content = json.dumps([self.encoder, cascade, sorted(self.files.items())])
        return f"{self.name} {hashlib.sha256(content.encode()).hexdigest()[:16]}"

    @property
    def reading(self) -> PairReading:
        return PairReading(self.max_tokens, self.request_words, self.own_requests)

    @property
    def is_split_by_time(self) -> bool:
        """True if histories were split by time: its figures were then measured on the users that it was trained on."""
        return bool(self.training.get("split", {}).get("by") == "time")

    @property
    def cascade(self) -> Cascade:
        return Cascade(self.reranked, self.weight)

    def inherited(self) -> str:
        """Describe the calibration, training data and figures in a paragraph. If the artifact is not to be used, a
        warning comes first."""
        warning = f"Do not use this artifact: {'; '.join(self.do_not_use)}. " if self.do_not_use else ""
        figures = ", ".join(
            f"{name} {value['value']:.3g} [{value['low']:.3g}, {value['high']:.3g}]"
            for name, value in self.figures.items()
            if isinstance(value, dict) and {"value", "low", "high"} <= value.keys()
        )
        histories = ", ".join(item["file"] for item in self.training.get("histories", ()))
        held_back = "later texts of the same users" if self.is_split_by_time else "users held back"
        return (
            f"{warning}{self.name}: y0 {self.y0:.3g} nats, tau {self.tau:g}, {self.calibration.words()}; gains are the "
            f"{self.normalize} over the target's tokens under '{self.training.get('auxiliary', 'unknown')}'; "
            f"trained on {histories or 'unknown'}" + (f"; on {held_back}: {figures}" if figures else "")
        )


def write_manifest(folder: Path, artifact: Artifact) -> None:
    """Write ``artifact.json``, with digests of the files in the folder. Call it when all other files are written."""
    content = manifest_json(replace(artifact, files=carried_files(folder, (MANIFEST, PARTIAL))))
    partial = folder / PARTIAL
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(folder / MANIFEST)


def manifest_json(artifact: Artifact) -> dict[str, Any]:
    """Return the content of ``artifact.json`` as JSON values."""
    content = asdict(artifact) | {"threshold": theta_json(artifact.threshold)}
    if artifact.thresholds is not None:
        content["thresholds"] = {model: theta_json(theta) for model, theta in artifact.thresholds.items()}
    return content


def write_signals(folder: Path, parts: CalibratedParts) -> None:
    """Write all parts except the cross-encoder to ``signals.safetensors``: word weights, head and level."""
    from safetensors.numpy import save_file

    tensors: dict[str, NDArray[Any]] = {"words": parts.words.weights.astype(np.float16)} | parts.head.tensors()
    tensors |= {} if parts.level is None else parts.level.tensors()
    with saving_tensors(folder / SIGNALS) as file:
        save_file(tensors, file)


def read_manifest(folder: Path) -> Artifact:
    """Read ``artifact.json``. Raises InputError if the folder is no artifact, or has another format or other
    signals."""
    missing = InputError(f"{folder}: is not an artifact: it has no {MANIFEST}. Name a folder that 'pearl train' wrote.")
    content = manifest_content(folder / MANIFEST, FORMAT, missing)
    if "kind" in content:
        raise InputError(
            f"{folder}: holds a {content['kind']} model, not a retriever; name a folder that 'pearl train retriever' "
            "wrote."
        )
    content.pop("reach", None)  # of the version before: how early reading might end
    if content.get("threshold") == ALL:
        content["threshold"] = EVERYTHING
    if isinstance(thresholds := content.get("thresholds"), dict):
        content["thresholds"] = {model: EVERYTHING if theta == ALL else theta for model, theta in thresholds.items()}
    artifact = manifest_record(Artifact, content, folder / MANIFEST)
    if artifact.signals != SIGNAL_NAMES:
        raise InputError(f"{folder}: was trained on signals that this version does not compute; train it again.")
    return artifact


def read_whole(folder: Path) -> Artifact:
    """Read the manifest of an artifact and check its files. Raises InputError if a file is missing, changed or foreign.
    Call it before writing the manifest again, which records new digests."""
    artifact = read_manifest(folder)
    check_carried(folder, artifact.files, (SIGNALS,), (MANIFEST, PARTIAL))
    return artifact


@lru_cache(maxsize=4)
def load_artifact(folder: Path) -> tuple[Artifact, CalibratedParts]:
    """Load an artifact's manifest and trained parts; the last few folders are cached. Raises InputError if a file is
    missing, changed or foreign."""
    artifact = read_whole(folder)
    from safetensors.numpy import load_file

    tensors = load_file(folder / SIGNALS)
    inner = folder / CROSS_ENCODER
    cross_encoder = None
    if inner.is_dir():
        cross_encoder = CrossEncoderModel(inner, artifact.reading)
    words = WordWeights(tensors["words"].astype(np.float32))
    return artifact, CalibratedParts(words, SignalHead.of(tensors), cross_encoder, Level.of(tensors))


def artifact_retriever(folder: Path, encoder: Encoder) -> CalibratedRetriever:
    """Load the retriever of an artifact. Raises InputError if it is damaged or was trained with another encoder."""
    artifact, parts = load_artifact(folder.resolve())
    if encoder.name != artifact.encoder:
        raise InputError(
            f"The artifact {folder} was trained with the encoder '{artifact.encoder}', not with '{encoder.name}'; "
            f"set PEARL_ENCODER to {encoder_option(artifact.encoder)}, or train again."
        )
    return CalibratedRetriever(
        artifact.name,
        encoder,
        parts,
        artifact.calibration,
        artifact.cascade,
        artifact.inherited(),
        artifact.do_not_use,
        artifact.fingerprint,
    )
