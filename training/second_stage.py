"""The cross-encoder beside the head: warm start on relevance, then what the head does not know of the gain.

Dimensions in comments: C candidates of a request.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pearl.records import Document, Request
from retriever.head import Floats, SignalHead
from retriever.quantized import write_weights
from training.examples import Example
from training.first_stage import RELEVANCE, Anchor, Data, Signals, loss_of, requests_of
from training.fit_cross_encoder import (
    CrossEncoderOptions,
    TextGroup,
    fit_cross_encoder,
    logits_of,
    new_cross_encoder,
    restart,
)
from training.fit_head import SignalList, plain
from training.measure import measure
from training.selection import TrainingGroup, select_groups, select_requests

RELEVANCE_GAIN = 50.0  # nats: the softmax then puts everything on the one text that answers the request
RELEVANCE_TAU = 5.0
RELEVANCE_PER_USER = 20
RELEVANCE_SHARE = 0.25  # of the time
DEV_NEGATIVES = 5
LOGIT_WEIGHTS = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class SecondStage:
    """The scores of dev's documents, (C,) each, with the logit beside the head's at ``weight``; 0: not worth having."""

    weight: float
    dev_scores: list[Floats]
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
    found = _kept(folder)
    if found.get("made_of") == made_of:
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
        folder / "checkpoints",
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
    anchor: Anchor,
    options: CrossEncoderOptions,
    work: Path,
    seconds: float | None,
) -> SecondStage:
    """Train the model in place on the groups of Algorithm 1, by proxy and true, beside the head as it stands.

    The weight of its logit is chosen on dev; the last layer is scaled by it. Under ``relevance`` the model stays as it
    is, with a weight of 1.
    """
    beside = [head.logits(each.signals) for each in signals.dev]
    if loss == RELEVANCE:
        logits = [logits_of(model, example.request, example.documents) for example in data.dev]
        return SecondStage(1.0, logits, {})
    groups = residual_groups(data.warm, signals.warm, head, options.seed)
    groups += residual_groups(data.train, signals.train, head, options.seed) * 2
    random.Random(options.seed).shuffle(groups)
    dev = _dev_groups(data.dev, signals.dev, head, options.seed)
    restart(model)
    loss_function = loss_of(loss, anchor)
    report = fit_cross_encoder(model, groups, dev, loss_function, options, work / "residual", seconds=seconds)
    logits = [logits_of(model, example.request, example.documents) for example in data.dev]
    gains = [each.gains for each in signals.dev]
    fits = {
        weight: measure([own + weight * more for own, more in zip(beside, logits, strict=True)], gains)
        for weight in LOGIT_WEIGHTS
    }
    weight = max(fits, key=lambda each: fits[each].quality)  # the smallest of equal ones
    scale_last_layer(model, weight)
    scores = [own + weight * more for own, more in zip(beside, logits, strict=True)]
    tried = [{"logit_weight": each, **asdict(fit)} for each, fit in fits.items()]
    return SecondStage(weight, scores, report | {"logit_weights": tried})


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
                groups.append(TextGroup(Request(document.request or ""), texts, gains, np.zeros_like(gains)))
    random.Random(seed).shuffle(groups)
    return groups


def residual_groups(
    examples: Sequence[Example], lists: Sequence[SignalList], head: SignalHead, seed: int
) -> list[TextGroup]:
    """The groups of Algorithm 1 with their texts, and what the head says of each document."""
    if not examples:
        return []
    return _with_texts(select_groups(select_requests(requests_of(examples)), seed=seed), examples, lists, head)


def _dev_groups(
    examples: Sequence[Example], lists: Sequence[SignalList], head: SignalHead, seed: int
) -> list[TextGroup]:
    """All requests, for those that nothing helps are asked, too."""
    groups = select_groups(requests_of(examples), positives=1, negatives=DEV_NEGATIVES, seed=seed)
    return _with_texts(groups, examples, lists, head)


def _with_texts(
    groups: Sequence[TrainingGroup], examples: Sequence[Example], lists: Sequence[SignalList], head: SignalHead
) -> list[TextGroup]:
    places = {(example.user_id, example.request_id): place for place, example in enumerate(examples)}
    found = []
    for group in groups:
        place = places[group.user_id, group.request_id]
        example, own = examples[place], {document.id: row for row, document in enumerate(examples[place].documents)}
        rows = [own[id] for id in group.documents]
        documents = tuple(example.documents[row] for row in rows)
        offsets = head.logits(lists[place].signals[rows])
        found.append(TextGroup(example.request, documents, np.array(group.gains, np.float32), offsets))
    return found


def scale_last_layer(model: Any, factor: float) -> None:
    """Multiply every logit."""
    import torch

    from training.fit_cross_encoder import last_layer

    with torch.no_grad():
        last_layer(model).weight.mul_(factor)
        last_layer(model).bias.mul_(factor)


def save_cross_encoder(model: Any, folder: Path) -> None:
    """Weights, configuration and tokenizer, as ``retriever.cross_encoder`` reads them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.model.config.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    write_weights(model.model.state_dict(), folder / "model.safetensors")


def _digest(groups: Sequence[TextGroup]) -> str:
    texts = [[group.request.text, *(document.text for document in group.documents)] for group in groups]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _kept(folder: Path) -> dict[str, Any]:
    file = folder / "report.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _keep(model: Any, folder: Path, report: dict[str, Any]) -> None:
    (folder / "report.json").unlink(missing_ok=True)
    model.save_pretrained(str(folder))
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")  # last: it says that all is there
