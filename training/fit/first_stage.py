"""The first stage: the head on signals, with y0 and tau chosen on dev."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console

from pearl.errors import InputError
from retriever.calibrated.head import Floats, SignalHead, silent
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import Encoder
from training.choose.measure import Fit, measure
from training.data.records import Example
from training.data.selection import MEAN, ScoredRequest, SelectionOptions, TrainingGroup, select_groups, select_requests
from training.fit.features import signal_lists
from training.fit.head import HeadOptions, Loss, SignalList, calibrated, fit_head, new_head, plain
from training.options import CALIBRATED, DISTILL, RELEVANCE
from training.progress import progress_of

TAUS = (5.0, 10.0, 20.0)  # 5 as published first
TRUE_REPEATED = 3  # a true gain counts as much as three by proxy


@dataclass(frozen=True, slots=True)
class Data:
    """Examples with true gains of users to train on and to choose by, and of the same users with gains by proxy."""

    train: list[Example]
    dev: list[Example]
    warm: list[Example]
    warm_dev: list[Example]


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of each example of ``Data``, in its order."""

    train: list[SignalList]
    dev: list[SignalList]
    warm: list[SignalList]
    warm_dev: list[SignalList]


@dataclass(frozen=True, slots=True)
class Anchor:
    y0: float
    tau: float


def compute_signals(data: Data, encoder: Encoder, words: WordWeights, console: Console) -> Signals:
    parts = (data.train, data.dev, data.warm, data.warm_dev)
    with progress_of("signals", sum(map(len, parts)), console) as advance:
        found = [list(signal_lists(part, encoder, words, advance)) for part in parts]
    return Signals(*found)


def positives(examples: Sequence[Example], selection: SelectionOptions) -> Floats:
    """The gains of the positives of Algorithm 1. Raises InputError where it selects none."""
    groups = groups_of(examples, selection)
    if not groups:
        raise InputError(
            f"Of no request that is kept there are more candidates than the {selection.positives} positives; keep a "
            "larger --share, or take fewer --positives.",
            code="nothing_selected",
        )
    return np.array([group.gains[0] for group in groups], np.float32)


def groups_of(examples: Sequence[Example], selection: SelectionOptions) -> list[TrainingGroup]:
    """The groups of Algorithm 1."""
    kept = select_requests(requests_of(examples), selection.share)
    return select_groups(kept, positives=selection.positives, negatives=selection.negatives, seed=selection.seed)


def requests_of(examples: Sequence[Example]) -> list[ScoredRequest]:
    return [
        ScoredRequest(
            example.user_id,
            example.request_id,
            {document.id: float(gain) for document, gain in zip(example.documents, example.gains, strict=True)},
        )
        for example in examples
    ]


def selected(examples: Sequence[Example], share: float) -> list[int]:
    """Places of the requests that Algorithm 1 keeps."""
    kept = {(request.user_id, request.request_id) for request in select_requests(requests_of(examples), share)}
    return [place for place, each in enumerate(examples) if (each.user_id, each.request_id) in kept]


def fit_first_stage(
    data: Data,
    signals: Signals,
    loss: str,
    selection: SelectionOptions,
    console: Console,
    options: HeadOptions | None = None,
) -> tuple[SignalHead, Anchor, list[dict[str, Any]]]:
    """The head, with tau and then y0 chosen on dev: tau of a few, y0 of the quartiles of the positives' gains.

    Gains are heavy-tailed and scored requests are few, so dev's requests with gains by proxy are asked, too.

    Requests by Algorithm 1, of each all candidates: signals are cheap, so negatives need not be sampled. Under
    ``relevance`` the head says nothing.
    """
    options = options or HeadOptions(seed=selection.seed)
    low, middle, high = (float(value) for value in np.quantile(positives(data.train, selection), (0.25, 0.5, 0.75)))
    lists = _training_lists(data, signals, 1.0 if loss == DISTILL else selection.share)
    tried_taus = taus(data.train, selection.normalize)
    if loss == RELEVANCE:
        module = new_head(lists, options)
        return silent(module.frozen()), Anchor(middle, tried_taus[0]), []
    tried: dict[Anchor, tuple[SignalHead, Fit]] = {}
    asked = [*signals.dev, *signals.warm_dev]

    def attempt(anchor: Anchor) -> None:
        head = _fitted_head(lists, loss_of(loss, anchor), options)
        tried[anchor] = (head, measure([head.logits(each.signals) for each in asked], _gains(asked)))

    with console.status("Fitting the first stage..."):
        for tau in tried_taus:
            attempt(Anchor(middle, tau))
        if loss == CALIBRATED:
            tau = _best(tried).tau
            for y0 in (low, high):
                attempt(Anchor(y0, tau))
    anchor = _best(tried)
    return tried[anchor][0], anchor, [asdict(each) | asdict(fit) for each, (_, fit) in tried.items()]


def taus(train: Sequence[Example], normalize: str) -> tuple[float, ...]:
    """The temperatures that are tried. They are of gains in nats; of gains in nats a token they are as much smaller."""
    tokens = float(np.mean([example.target_tokens for example in train])) if normalize == MEAN else 1.0
    return tuple(tau / tokens for tau in TAUS)


def loss_of(name: str, anchor: Anchor) -> Loss:
    """The scale-calibrated loss, or its ablation without the anchor.

    ``distill`` is plain KL on all requests: within a request log p(t given d, q) differs from the gain by a constant,
    which the softmax does not see.
    """
    return calibrated(anchor.y0, anchor.tau) if name == CALIBRATED else plain(anchor.tau)


def _training_lists(data: Data, signals: Signals, share: float) -> list[SignalList]:
    warm, true = selected(data.warm, share), selected(data.train, share)
    return [signals.warm[place] for place in warm] + [signals.train[place] for place in true] * TRUE_REPEATED


def _fitted_head(lists: list[SignalList], loss: Loss, options: HeadOptions) -> SignalHead:
    module = new_head(lists, options)
    fit_head(module, lists, loss, options)
    return module.frozen()


def _best(tried: dict[Anchor, tuple[SignalHead, Fit]]) -> Anchor:
    return max(tried, key=lambda anchor: tried[anchor][1].quality)


def _gains(lists: Sequence[SignalList]) -> list[Floats]:
    return [each.gains for each in lists]
