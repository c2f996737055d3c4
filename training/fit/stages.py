"""Fitting the retriever's two stages: the head on signals, with y0 and tau chosen on dev, and the cross-encoder.

Dimensions in comments: C candidates of a request.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from retriever.calibrated.head import Cascade, Floats, SignalHead, silent
from retriever.models.cross_encoder import PairReading
from training.choose.measure import SURE, Fit, better_in, measure, measure_domains
from training.config import CALIBRATED, MEAN, QUARTILES, RELEVANCE, SEARCH
from training.data.records import Example, clusters_of
from training.data.selection import select, select_groups, select_requests
from training.fit.cross_encoder import CrossEncoderOptions, GroupFitting, logits_of, restart
from training.fit.head import Anchor, HeadOptions, Loss, calibrated, fit_head, new_head, plain
from training.fit.kept import CrossEncoderFit, digest_of_texts, digest_of_weights, kept_or_fitted
from training.fit.material import FitMaterial
from training.run import FITTED, Run, TrainingOptions

TAUS = (5.0, 10.0, 20.0)  # 5 as published first
DEV_NEGATIVES = 5
WEIGHTS = (0.0, 0.25, 0.5)
EVERYTHING = 1_000_000


@dataclass(frozen=True, slots=True)
class FirstStage:
    """The fitted head with its anchor (the scale of its scores). ``dev_scores``: scores of dev's documents, (C,) per
    request; ``tried``: the figures of every anchor that was tried."""

    head: SignalHead
    anchor: Anchor
    dev_scores: list[Floats]
    tried: list[dict[str, Any]]
    cut_short: bool = False  # the budget ended before all were tried


@dataclass(frozen=True, slots=True)
class SecondStage:
    """The fitted cross-encoder. ``dev_scores``: scores of dev's documents by both stages, (C,) per request;
    ``cascade``: how the two stages' scores are combined; ``relevance``, ``report``: reports on the warm start and on
    the training."""

    model: Any
    dev_scores: list[Floats]
    cascade: Cascade
    relevance: dict[str, Any]
    report: dict[str, Any] = field(default_factory=dict)


def fit_first_stage(run: Run, material: FitMaterial, options: HeadOptions | None = None) -> FirstStage:
    """Fit the head. Tau is chosen on dev among a few values, then y0 among quartiles of the positives' gains, unless
    the options give them: y0 in nats or by a quartile's name.

    The head learns from all candidates of the requests that Algorithm 1 selects. Dev includes requests with gains by
    proxy, and each domain counts the same. Under the loss ``relevance`` the head scores everything 0.
    """
    loss, selection, tau, y0 = run.options.loss, run.options.selection, run.options.tau, run.options.y0
    options = options or HeadOptions(seed=selection.seed)
    positives = np.array(material.chosen.positive_gains, np.float32)
    quartiles = {name: float(np.quantile(positives, place)) for name, place in QUARTILES.items()}
    first = quartiles["median"] if y0 == SEARCH else quartiles[y0] if isinstance(y0, str) else y0
    examples = select_requests(material.warm, selection.share) + material.chosen.requests
    temperatures = (tau,) if isinstance(tau, float) else taus(material.train, selection.normalize)
    tried: dict[Anchor, tuple[SignalHead, Fit]] = {}
    longest, left_out = 0.0, 0  # seconds of an attempt; attempts that there was no time for
    asked = [*material.dev, *material.warm_dev]

    def attempt(anchor: Anchor) -> None:
        nonlocal longest, left_out
        started = time.monotonic()
        if tried and run.budget.left(FITTED)() < longest:
            left_out += 1
            return
        module = new_head(examples, options)
        fit_head(module, examples, loss_of(loss, anchor), options)
        head = module.frozen()
        scores, gains = [head.logits(example.signals) for example in asked], [example.gains for example in asked]
        tried[anchor] = head, measure_domains(scores, gains, [example.domain for example in asked])
        longest = max(longest, time.monotonic() - started)

    def best() -> Anchor:
        return max(tried, key=lambda anchor: tried[anchor][1].quality)

    if loss == RELEVANCE:
        anchor, head = Anchor(first, temperatures[0]), silent(new_head(examples, options).frozen())
    else:
        with run.console.status("Fitting the first stage..."):
            for temperature in temperatures:
                attempt(Anchor(first, temperature))
            if loss == CALIBRATED and y0 == SEARCH:
                chosen = best().tau
                for quartile in ("q1", "q3"):
                    attempt(Anchor(quartiles[quartile], chosen))
        anchor, head = best(), tried[best()][0]
    report = [asdict(attempted) | asdict(fit) for attempted, (_, fit) in tried.items()]
    return FirstStage(head, anchor, [head.logits(example.signals) for example in material.dev], report, left_out > 0)


def taus(train: Sequence[Example], normalize: str) -> tuple[float, ...]:
    """Return the values of tau to try, in nats, or in nats per token if gains are means over tokens."""
    tokens = float(np.mean([example.target_tokens for example in train])) if normalize == MEAN else 1.0
    return tuple(tau / tokens for tau in TAUS)


def loss_of(name: str, anchor: Anchor) -> Loss:
    """Return the loss of this name: the scale-calibrated loss, or its ablation without the anchor."""
    return calibrated(anchor.y0, anchor.tau) if name == CALIBRATED else plain(anchor.tau)


def fit_second_stage(
    run: Run, start: CrossEncoderFit, first: FirstStage, material: FitMaterial, options: CrossEncoderOptions
) -> SecondStage:
    """Train the cross-encoder on the groups that Algorithm 1 selects, with true gains and gains by proxy, and keep it
    in the working folder for the next run.

    The final score is a weighted mean of both stages. The weight is chosen on dev unless it is given; it is 0 unless
    dev is surely better with the cross-encoder, or the options keep it. Under the loss ``relevance`` the model is not
    trained further, and is used alone.
    """
    model, loss = start.model, run.options.loss
    if loss == RELEVANCE:
        # without a first stage there is nothing to choose by what to read
        return SecondStage(model, _logits(model, material.dev, options.reading), Cascade(EVERYTHING), start.report)
    groups = select(material.warm, run.options.selection).groups + material.chosen.groups * options.repeated
    random.Random(options.seed).shuffle(groups)
    # all of dev's requests, for those that nothing helps are asked, too
    dev = select_groups(material.dev, positives=1, negatives=DEV_NEGATIVES, seed=options.seed)
    restart(model)
    made_of = {
        "start": digest_of_weights(model),
        "loss": loss,
        "anchor": asdict(first.anchor),
        "options": asdict(options),
        "texts": digest_of_texts([*groups, *dev]),
        "gains": hashlib.sha256(np.concatenate([group.gains for group in groups]).tobytes()).hexdigest(),
    }
    seconds = run.budget.seconds_until(FITTED)
    fitting = GroupFitting(groups, dev, loss_of(loss, first.anchor), options, seconds)
    fitted = kept_or_fitted(model, fitting, run.options.work / "second", made_of)
    logits = _logits(fitted.model, material.dev, options.reading)
    cascade, scores, weights = _weighed(run.options, first.dev_scores, logits, material.dev)
    return SecondStage(fitted.model, scores, cascade, start.report, fitted.report | weights)


def _logits(model: Any, dev: Sequence[Example], reading: PairReading) -> list[Floats]:
    return [logits_of(model, example.request, example.documents, reading) for example in dev]


def _weighed(
    options: TrainingOptions, first: Sequence[Floats], logits: Sequence[Floats], dev: Sequence[Example]
) -> tuple[Cascade, list[Floats], dict[str, Any]]:
    """Choose the cross-encoder's weight that is best on dev. Return the cascade, the scores of dev's documents under
    it, and the figures of all weights. A weight that is given is taken; at 1 the cross-encoder is used alone."""
    given_weights = [options.weight] if isinstance(options.weight, float) else []
    gains, users = [example.gains for example in dev], clusters_of(dev)
    scores = {
        part: [(1 - part) * own + part * more for own, more in zip(first, logits, strict=True)]
        for part in sorted({*WEIGHTS, *given_weights})
    }
    fits = {part: measure(mine, gains) for part, mine in scores.items()}
    better = {part: better_in(mine, first, gains, users, options.seed) for part, mine in scores.items()}
    sure = [part for part in WEIGHTS if part > 0 and (options.keep_cross_encoder or better[part] >= SURE)]
    chosen = max(given_weights or sure or [0.0], key=lambda part: fits[part].quality)
    report = {
        "weights": [{"weight": part, **asdict(fit), "better_in": better[part]} for part, fit in fits.items()],
        "alone": asdict(measure(logits, gains)),
    }
    return Cascade(EVERYTHING) if chosen == 1 else Cascade(weight=chosen), scores[chosen], report
