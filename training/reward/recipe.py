"""The training of a reward model, from data files to an artifact."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from safetensors.numpy import save_file

from pearl import __version__
from pearl.cli.options import known
from pearl.errors import InputError
from pearl.settings import EMBEDDED, MPNET
from pearl.stats.bootstrap import Bootstrap
from pearl.text.files.whole import file_digest
from retriever.models.encoder import NAMES, encoder_source
from retriever.models.files import saving_tensors, source_digest
from retriever.models.hardware import device_named
from retriever.reward.artifact import (
    COSINE,
    ENCODER,
    HEAD,
    HIGHEST,
    KIND,
    LOWEST,
    SCORES,
    RewardArtifact,
    ScoreHead,
    read_reward,
    write_reward,
)
from retriever.reward.model import RewardModel
from retriever.reward.records import QualityPair, read_pairs
from training.files import alone_in, check_replaceable, replaced
from training.fit.cross_encoder import base_config, window_of
from training.reward.config import EVERYTHING, RewardOptions
from training.reward.fit import RewardNetwork, fit_network, items_of
from training.reward.material import VARIANTS, P, R, RewardMaterial, read_material
from training.reward.network import HeadNetwork
from training.reward.other_kinds import of_other_kind
from training.reward.reading import KeptVectors, LearningReader, ParagraphReader, kept_vectors, layers_of

SPREAD = 0.5  # standard deviation of the logits of a model that saw no scores
EDGE = 0.02  # of the scale, to which scores are held before they become logits


def train_reward(options: RewardOptions, console: Console) -> RewardArtifact:
    """Train a reward model, write its artifact and return that. Raises InputError for what cannot be trained on."""
    known("variant", options.variant, VARIANTS)
    device = device_named(options.device)
    check_replaceable(options.out, options.work, KIND)
    if options.fitted != EVERYTHING and options.pair_rule == COSINE:
        raise InputError("--choose pair_rule=cosine has no weights but the encoder's: it needs --choose fitted=all.")
    config = base_config(options.base)
    if config.is_encoder_decoder:
        raise InputError(
            f"The base '{options.base}' has a decoder behind its encoder ({config.model_type}); name a model without "
            f"one, such as '{EMBEDDED}' or '{MPNET}'."
        )
    options = replace(options, max_tokens=min(options.max_tokens, window_of(config)))
    layers = layers_of(options.base, options.layers)
    others = {file: read_pairs(file) for file in options.other_kind}
    everything = read_material(options.data, options.held_back, options.duplicates, options.lengths)
    material = everything.of_variant(options.variant)
    for note in material.notes:
        console.print(f"Note: {note}.", highlight=False, markup=False, soft_wrap=True)
    train, dev = material.split(options.dev_share, options.seed)
    with alone_in(options.work, "work"):
        console.print(
            f"{len(train.scored):,} scores and {len(train.pairs):,} pairs to train on, {len(dev.scored):,} and "
            f"{len(dev.pairs):,} to stop by; {len(set(material.originals)):,} underlying paragraphs.",
            highlight=False,
            soft_wrap=True,
        )
        network = _network(material, train, layers, options, console).to(device)
        learned, chosen_by = (items_of(part, options.pair_rule) for part in (train, dev))
        checkpoint = options.work / f"{_made_of(material, options)}-checkpoint.pt"
        report = fit_network(network, learned, chosen_by, options, checkpoint, console)
        network.cpu()
        head: ScoreHead | None = network.head.head()
        if options.variant == P and options.pair_rule == COSINE:
            head = None
        elif options.variant == P:
            scores = tuple(item for item in everything.scored if item.text in train.used)
            head = scaled(network.head.head(), network.reader, replace(train, scored=scores))
        artifact = _described(material, layers, report, options)
        with replaced(options.out) as folder:
            if head is not None:
                with saving_tensors(folder / HEAD) as file:
                    save_file(head.tensors(), file)
            if isinstance(network.reader, LearningReader):
                network.reader.save(folder / ENCODER)
            write_reward(folder, artifact)
            write_reward(folder, _measured(artifact, RewardModel.load(folder), dev, others, options.seed, console))
        checkpoint.unlink(missing_ok=True)
    return read_reward(options.out)


def _network(
    material: RewardMaterial, train: RewardMaterial, layers: Sequence[int], options: RewardOptions, console: Console
) -> RewardNetwork:
    """Make the network before its training. Its head standardises vectors only if the encoder is not trained."""
    torch.manual_seed(options.seed)
    if options.fitted == EVERYTHING:
        reader = LearningReader(options.base, material.texts, layers, options.max_tokens)
        as_they_are = np.vstack([np.full(reader.width, -1.0), np.full(reader.width, 1.0)])
        return RewardNetwork(reader, HeadNetwork(options.head, as_they_are, options.seed), options)
    vectors = kept_vectors(options.base, material.texts, layers, options.max_tokens, options.work, console)
    head = HeadNetwork(options.head, vectors[sorted(train.used)], options.seed)
    return RewardNetwork(KeptVectors(vectors), head, options)


def scaled(head: ScoreHead, reader: ParagraphReader, material: RewardMaterial) -> ScoreHead:
    """Rescale the logits of a head that was learned from pairs alone to the material's scores. Without scores, or if
    scores fall with the logits, the logits get a fixed spread."""
    texts = [item.text for item in material.scored] or [pair.better for pair in material.pairs]
    with torch.inference_mode():
        logits = head.logits(np.concatenate([reader.vectors([text]).numpy() for text in texts]))
    slope, middle = SPREAD / max(float(logits.std()), 1e-9), 0.0
    if material.scored:
        shares = (np.array([item.score for item in material.scored]) - LOWEST) / (HIGHEST - LOWEST)
        wanted = np.log(1 / np.clip(shares, EDGE, 1 - EDGE) - 1) * -1
        fitted = float(np.cov(logits, wanted)[0, 1] / max(float(logits.var(ddof=1)), 1e-9)) if len(texts) > 1 else 0.0
        slope, middle = (fitted if fitted > 0 else slope), float(wanted.mean())
    bias = slope * (head.bias - logits.mean()) + middle
    return replace(head, outer=head.outer * slope, bias=bias)


def dev_figures(model: RewardModel, dev: RewardMaterial, seed: int) -> dict[str, Any]:
    """Measure the finished model on the dev split: its accuracy on pairs (asked in both orders), the accuracy of always
    picking the shorter text, and the correlation of predicted and given scores."""
    figures: dict[str, Any] = {}
    if dev.pairs:
        better = [dev.texts[pair.better] for pair in dev.pairs]
        worse = [dev.texts[pair.worse] for pair in dev.pairs]
        bootstrap = Bootstrap([str(dev.originals[pair.better]) for pair in dev.pairs], seed=seed)
        shorter = np.array([len(one) < len(other) for one, other in zip(better, worse, strict=True)], float)
        right = np.mean([model.prefer(better, worse) > 0, model.prefer(worse, better) < 0], axis=0)
        figures |= {
            "dev_pairs": len(dev.pairs),
            "dev_accuracy": bootstrap.share(right).to_json(),
            "dev_accuracy_shorter": bootstrap.share(shorter).to_json(),
        }
    if dev.scored and model.scores_paragraphs:
        wanted = np.array([item.score for item in dev.scored])
        scored = model.score([dev.texts[item.text] for item in dev.scored])
        bootstrap = Bootstrap([str(dev.originals[item.text]) for item in dev.scored], seed=seed)
        figures |= {
            "dev_scored": len(wanted),
            "dev_pearson_r": bootstrap.pearson(scored, wanted).to_json(),
            "dev_squared_error": bootstrap.mean((scored - wanted) ** 2).to_json(),
            "dev_squared_error_of_mean": bootstrap.mean((wanted.mean() - wanted) ** 2).to_json(),
        }
    return figures


def _measured(
    artifact: RewardArtifact,
    model: RewardModel,
    dev: RewardMaterial,
    others: Mapping[Path, Sequence[QualityPair]],
    seed: int,
    console: Console,
) -> RewardArtifact:
    """Add the artifact's figures, and whether it may ship by the rule of ``other_kinds``; print why it may not."""
    kinds = [of_other_kind(file, pairs, model, seed) for file, pairs in others.items()]
    failed = [failure for kind in kinds for failure in kind.failed]
    for failure in failed or ([] if kinds else ["there are no pairs of another kind to measure it by (--other-kind)"]):
        console.print(f"Not marked as fit to ship: {failure}.", highlight=False, markup=False, soft_wrap=True)
    figures = dev_figures(model, dev, seed) | {"other_kinds": [kind.to_json() for kind in kinds]}
    return replace(artifact, figures=figures, may_ship=bool(kinds) and not failed)


def _made_of(material: RewardMaterial, options: RewardOptions) -> str:
    content = [material.texts, repr(material.scored), repr(material.pairs), options.record(), options.variant]
    return hashlib.sha256(json.dumps([content, source_digest(encoder_source(options.base))]).encode()).hexdigest()[:16]


def _described(
    material: RewardMaterial, layers: tuple[int, ...], report: dict[str, Any], options: RewardOptions
) -> RewardArtifact:
    training = {
        "config": options.record(),
        "data": [{"file": path.name, "sha256": file_digest(path)} for path in options.data],
        "scores": len(material.scored),
        "pairs": len(material.pairs),
        "notes": [_without_folders(note, options.files) for note in material.notes],
        "version": __version__,
        **report,
    }
    return RewardArtifact(
        name=options.out.name,
        variant=options.variant,
        preset=options.preset,
        base=NAMES.get(options.base, options.base),
        base_digest=source_digest(encoder_source(options.base)),
        layers=layers,
        max_tokens=options.max_tokens,
        pairs=SCORES if options.variant == R else options.pair_rule,
        training=training,
    )


def _without_folders(note: str, files: Sequence[Path]) -> str:
    """Remove the files' folders from a note: an artifact must not tell where files lie on this machine."""
    for path in files:
        note = note.replace(str(path), path.name)
    return note
