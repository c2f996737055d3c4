"""The cross-encoder beside the head: warm start on relevance, then the gain, by proxy and true.

Dimensions in comments: C candidates of a request.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from retriever.calibrated.cascade import Cascade
from retriever.calibrated.head import Floats, SignalHead
from retriever.models.cross_encoder import pair_of
from retriever.models.files import model_fingerprint
from retriever.models.quantized import write_weights
from training.choose.measure import better_in, measure
from training.data.records import Example, clusters_of
from training.data.selection import SelectionOptions, TrainingGroup, select_groups
from training.files import replaced_file
from training.fit.activations import input_ranges
from training.fit.cross_encoder import (
    CrossEncoderOptions,
    TextGroup,
    fit_cross_encoder,
    logits_of,
    new_cross_encoder,
    restart,
)
from training.fit.first_stage import Anchor, Data, Signals, groups_of, loss_of, requests_of
from training.fit.head import plain
from training.options import DISTILL, RELEVANCE

RELEVANCE_GAIN = 50.0  # nats: the softmax then puts everything on the one text that answers the request
RELEVANCE_TAU = 5.0
RELEVANCE_PER_USER = 20
RELEVANCE_SHARE = 0.25  # of the time
WORTH_MORE = 1.5  # times as much time as it had before: then a training that was cut short is done again
DEV_NEGATIVES = 5
WEIGHTS = (0.0, 0.25, 0.5)
SURE = 0.9  # of resamples of dev's users, in which a weight must be better than none
RANGED = 200  # pairs whose activations say what the matrices' inputs are like
EVERYTHING = 1_000_000


@dataclass(frozen=True, slots=True)
class SecondStage:
    """The scores of dev's documents, (C,) each, under the cascade; one of weight 0 does without the cross-encoder
    ``model``."""

    model: Any
    dev_scores: list[Floats]
    cascade: Cascade
    report: dict[str, Any]


def fit_relevance(
    base: str,
    histories: Mapping[str, Sequence[Document]],
    options: CrossEncoderOptions,
    folder: Path,
    seconds: float | None,
    device: str,
) -> tuple[Any, dict[str, Any]]:
    """A cross-encoder that tells the text that answered a request from others by the same user: the baseline
    RelevanceCE, and where the calibrated one starts. Kept in ``folder``: the next run finds it there."""
    groups = relevance_groups(histories, options.seed)
    made_of = {"base": base, "options": asdict(options), "texts": _digest(groups)}
    if base != EMBEDDED:
        made_of["content"] = model_fingerprint(base)
    found = _kept(folder)
    if _usable(found, made_of, seconds):
        return new_cross_encoder(str(folder), options, device), found
    if len(groups) < 2:
        return new_cross_encoder(base, options, device), {"groups": len(groups), "steps": 0}
    cut = max(1, min(len(groups) // 10, 200))
    model = new_cross_encoder(base, options, device)
    report = fit_cross_encoder(
        model,
        groups[cut:],
        groups[:cut],
        plain(RELEVANCE_TAU),
        options,
        _checkpoints(folder, made_of),
        seconds=seconds,
    )
    report |= {"made_of": made_of}
    _keep(model, folder, report)
    return model, report


def fit_second_stage(
    model: Any,
    head: SignalHead,
    data: Data,
    signals: Signals,
    loss: str,
    selection: SelectionOptions,
    anchor: Anchor,
    options: CrossEncoderOptions,
    work: Path,
    seconds: float | None,
    *,
    keep: bool = False,
) -> SecondStage:
    """Train the model on the groups of Algorithm 1, by proxy and true; its weight is chosen on dev. It is kept in
    ``work``, where the next run finds it.

    Its logit is a calibrated score of its own, on the head's scale, so the two are averaged, where dev is surely better
    off. ``keep``: the weight is above 0 in any case. Under ``relevance`` the model stays as it is and stands alone.
    """
    first = [head.logits(each.signals) for each in signals.dev]
    if loss == RELEVANCE:
        logits = [logits_of(model, example.request, example.documents) for example in data.dev]
        # without a first stage there is nothing to choose by what to read
        return SecondStage(model, logits, Cascade(EVERYTHING), {})
    if loss == DISTILL:
        selection = replace(selection, share=1.0)
    groups = text_groups(data.warm, selection) + text_groups(data.train, selection) * 2
    random.Random(options.seed).shuffle(groups)
    dev = _dev_groups(data.dev, options.seed)
    restart(model)
    model, report = _fitted(model, groups, dev, loss, anchor, options, work / "second", seconds)
    logits = [logits_of(model, example.request, example.documents) for example in data.dev]
    gains = [each.gains for each in signals.dev]
    scores = {
        weight: [(1 - weight) * own + weight * more for own, more in zip(first, logits, strict=True)]
        for weight in WEIGHTS
    }
    fits = {weight: measure(each, gains) for weight, each in scores.items()}
    users = clusters_of(data.dev)
    better = {each: better_in(scores[each], first, gains, users, options.seed) for each in WEIGHTS}
    # reading costs every draft time, so what it adds on dev must not be chance
    usable = [each for each in WEIGHTS if each > 0 and (keep or better[each] >= SURE)] or [0.0]
    weight = max(usable, key=lambda each: fits[each].quality)
    alone = measure(logits, gains)
    tried = [{"weight": each, **asdict(fit), "better_in": better[each]} for each, fit in fits.items()]
    report |= {"weights": tried, "alone": asdict(alone)}
    return SecondStage(model, scores[weight], Cascade(weight=weight), report)


def _fitted(
    model: Any,
    groups: Sequence[TextGroup],
    dev: Sequence[TextGroup],
    loss: str,
    anchor: Anchor,
    options: CrossEncoderOptions,
    folder: Path,
    seconds: float | None,
) -> tuple[Any, dict[str, Any]]:
    made_of = {
        "start": _digest_of_weights(model),
        "loss": loss,
        "anchor": asdict(anchor),
        "options": asdict(options),
        "texts": _digest([*groups, *dev]),
        "gains": hashlib.sha256(np.concatenate([group.gains for group in groups]).tobytes()).hexdigest(),
    }
    found = _kept(folder)
    if _usable(found, made_of, seconds):
        return new_cross_encoder(str(folder), options, str(model.device)), found
    checkpoints = _checkpoints(folder, made_of)
    report = fit_cross_encoder(model, groups, dev, loss_of(loss, anchor), options, checkpoints, seconds=seconds)
    report |= {"made_of": made_of}
    _keep(model, folder, report)
    return model, report


def relevance_groups(histories: Mapping[str, Sequence[Document]], seed: int) -> list[TextGroup]:
    """A request with the text that answered it and others by the same user, in random order.

    The texts alone: its own request beside a text would give the answer away.
    """
    groups = []
    for user in sorted(histories):
        draw = random.Random(f"{seed}:{user}:relevance")
        documents = [document for document in histories[user] if document.request]
        for document in draw.sample(documents, min(RELEVANCE_PER_USER, len(documents))):
            others = [other for other in documents if other.text != document.text]
            negatives = draw.sample(others, min(3, len(others)))
            if negatives:
                texts = tuple(Document(each.id, each.text) for each in (document, *negatives))
                gains = np.array([RELEVANCE_GAIN, *(0.0 for _ in negatives)], np.float32)
                groups.append(TextGroup(Request(document.request or ""), texts, gains))
    random.Random(seed).shuffle(groups)
    return groups


def text_groups(examples: Sequence[Example], selection: SelectionOptions) -> list[TextGroup]:
    """The groups of Algorithm 1 with their texts."""
    return _with_texts(groups_of(examples, selection), examples)


def _dev_groups(examples: Sequence[Example], seed: int) -> list[TextGroup]:
    """All requests, for those that nothing helps are asked, too."""
    groups = select_groups(requests_of(examples), positives=1, negatives=DEV_NEGATIVES, seed=seed)
    return _with_texts(groups, examples)


def _with_texts(groups: Sequence[TrainingGroup], examples: Sequence[Example]) -> list[TextGroup]:
    known = {(example.user_id, example.request_id): example for example in examples}
    found = []
    for group in groups:
        example = known[group.user_id, group.request_id]
        own = {document.id: document for document in example.documents}
        documents = tuple(own[id] for id in group.documents)
        found.append(TextGroup(example.request, documents, np.array(group.gains, np.float32)))
    return found


def dev_pairs(examples: Sequence[Example], seed: int) -> list[tuple[str, str]]:
    """Some of what the cross-encoder will read."""
    pairs = [pair_of(each.request.text, document) for each in examples for document in each.documents]
    return random.Random(seed).sample(pairs, min(RANGED, len(pairs)))


def save_cross_encoder(model: Any, folder: Path, pairs: Sequence[tuple[str, str]] = ()) -> None:
    """Weights, configuration and tokenizer, as ``retriever.models.cross_encoder`` reads them; with ``pairs`` also what
    its matrices' inputs are like, so that they can be multiplied as bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.model.config.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    ranges = input_ranges(model, pairs) if pairs else {}
    write_weights(model.model.state_dict(), folder / "model.safetensors", ranges)


def _digest(groups: Sequence[TextGroup]) -> str:
    texts = [[group.request.text, *(document.text for document in group.documents)] for group in groups]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _digest_of_weights(model: Any) -> str:
    found = hashlib.sha256()
    for name, tensor in model.model.state_dict().items():
        found.update(name.encode())
        found.update(tensor.detach().float().cpu().numpy().tobytes())
    return found.hexdigest()


def _kept(folder: Path) -> dict[str, Any]:
    file = folder / "report.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _usable(found: Mapping[str, Any], made_of: Mapping[str, Any], seconds: float | None) -> bool:
    """True when a kept model is what training would give now. One that a budget cut short counts, unless there is much
    more time now."""
    if found.get("made_of") != made_of:
        return False
    return bool(found.get("whole")) or (seconds is not None and seconds < WORTH_MORE * found["seconds"])


def _checkpoints(folder: Path, made_of: Mapping[str, Any]) -> Path:
    """The folder of checkpoints from which an interrupted training of the same inputs goes on."""
    return folder / "checkpoints" / hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:12]


def _keep(model: Any, folder: Path, report: dict[str, Any]) -> None:
    (folder / "report.json").unlink(missing_ok=True)
    model.save_pretrained(str(folder))
    with replaced_file(folder / "report.json") as partial:  # last: it says that all is there
        partial.write_text(json.dumps(report), encoding="utf-8")
