"""Fitting the level: a random forest that predicts how much the best-scored document helps, to shift all scores by it.

Dimensions in comments: C candidates, N requests, I inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.stats.bootstrap import Bootstrap
from retriever.calibrated.head import Floats, Level, SignalHead, level_inputs
from training.choose.measure import LEAST_REQUESTS, SURE, best_of, pearson
from training.data.records import Example, clusters_of
from training.fit.head import Anchor

TREES = 100
LEAST_IN_A_LEAF = 40  # requests: fewer, and a text that quotes another whole speaks for its kind
INPUTS_ASKED = 0.3  # share of the inputs that a node may choose from
MOST = 150.0  # nats: a gain above counts as that, or single ones would decide what is expected


@dataclass(frozen=True, slots=True)
class LevelFit:
    """A fitted level, or None if it was not kept. ``dev_scores``: the scores of dev's documents, (C,) per request,
    changed by the level if it was kept."""

    level: Level | None
    dev_scores: list[Floats]
    report: dict[str, Any]


def fit_level(
    head: SignalHead, anchor: Anchor, examples: Sequence[Example], dev: Sequence[Example], seed: int
) -> LevelFit:
    """Fit a level, which estimates the gain of the best-scored document, on ``examples`` with signals. Keep it if it
    raises Pearson's r of score and gain on ``dev``, averaged over domains, in the share SURE of bootstrap resamples."""
    level = forest_of(head, anchor, examples, seed)
    before = [head.logits(example.signals) for example in dev]
    after = [level.moved(head, example.signals, own) for example, own in zip(dev, before, strict=True)]
    higher_in, kinds = _compared(before, after, dev, seed)
    kept = higher_in >= SURE and len(dev) >= LEAST_REQUESTS
    report = {"requests": len(examples), "kept": kept, "higher_in": higher_in, "pearson_r": kinds}
    return LevelFit(level if kept else None, after if kept else before, report)


def forest_of(head: SignalHead, anchor: Anchor, examples: Sequence[Example], seed: int) -> Level:
    """Fit a random forest that estimates the gain of the document that the head scores best, and return it as a
    level."""
    from sklearn.ensemble import RandomForestRegressor

    scores = [head.logits(example.signals) for example in examples]
    inputs = [level_inputs(head, example.signals, own) for example, own in zip(examples, scores, strict=True)]
    _, gains = best_of(scores, [example.gains for example in examples])
    forest = RandomForestRegressor(
        n_estimators=TREES, min_samples_leaf=LEAST_IN_A_LEAF, max_features=INPUTS_ASKED, random_state=seed, n_jobs=-1
    )
    return level_of(forest.fit(np.stack(inputs), np.minimum(gains, MOST)), anchor)


def level_of(forest: Any, anchor: Anchor) -> Level:
    """Convert scikit-learn's forest, which predicts gains (nats), to a level, which predicts scores."""
    trees = [estimator.tree_ for estimator in forest.estimators_]
    roots = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1].astype(np.int32)
    return Level(
        roots,
        np.concatenate([np.maximum(tree.feature, -1) for tree in trees]).astype(np.int8),
        _not_above(np.concatenate([tree.threshold for tree in trees])),
        np.concatenate([tree.children_right + root for tree, root in zip(trees, roots, strict=True)]).astype(np.int32),
        ((np.concatenate([tree.value[:, 0, 0] for tree in trees]) - anchor.y0) / anchor.tau).astype(np.float32),
    )


def _not_above(values: NDArray[np.float64]) -> Floats:
    """Round each value down to float32: what lay below a threshold still does."""
    rounded = values.astype(np.float32)
    return np.where(rounded > values, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def _compared(
    before: Sequence[Floats], after: Sequence[Floats], dev: Sequence[Example], seed: int
) -> tuple[float, dict[str, dict[str, float]]]:
    """Return the share of bootstrap resamples of users in which r, averaged over domains, is higher after than before;
    and each domain's r before and after."""
    more, kinds = [], {}
    for kind in sorted({example.domain for example in dev}):
        places = [place for place, example in enumerate(dev) if example.domain == kind]
        gains = [dev[place].gains for place in places]
        first, second = (best_of([scores[place] for place in places], gains) for scores in (before, after))
        bootstrap = Bootstrap(clusters_of([dev[place] for place in places]), seed=seed)
        old, new = (np.nan_to_num(bootstrap.pearson(*own).resampled) for own in (first, second))
        more.append(new - old)
        kinds[kind] = {"before": pearson(*first), "after": pearson(*second)}
    return float((np.mean(more, axis=0) > 0).mean()), kinds
