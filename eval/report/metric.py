"""Metrics declared as data: what a figure measures, how it is computed, and the paper that defines it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from pearl.stats.bootstrap import Bootstrap, Estimate

T = TypeVar("T")
PEARL = "PEARL, papers/pearl.txt"


@dataclass(frozen=True, slots=True)
class Metric(Generic[T]):
    """The declaration of a metric: its name and explanation, and ``fold``, which computes it from a model's results."""

    name: str
    title: str
    description: str
    how: str
    citation: str
    digits: int  # shown behind the point
    fold: Callable[[Bootstrap, T], Estimate]  # computes the figure
    higher_is_better: bool = True


Figures = Mapping[str, Estimate]  # by metric


def figures(metrics: Sequence[Metric[T]], bootstrap: Bootstrap, results: T) -> Figures:
    return {metric.name: metric.fold(bootstrap, results) for metric in metrics}


def to_json(estimates: Figures, **row: object) -> dict[str, Any]:
    """Convert figures to a JSON object that starts with the fields of ``row``."""
    return {**row, **{name: estimate.to_json() for name, estimate in estimates.items()}}


def less(first: Figures, second: Figures) -> Figures:
    """The paired difference, ``first`` minus ``second``, of each figure."""
    return {name: estimate - second[name] for name, estimate in first.items()}


def differences(
    metrics: Sequence[Metric[T]], models: Iterable[str], measured: Mapping[str, Figures], baselines: Sequence[str]
) -> list[dict[str, Any]]:
    """For each model and metric, the paired difference from the best of the other ``baselines``. The best baseline is
    chosen for each metric on the same requests, which favours the baseline."""
    rows = []
    for model in models:
        row: dict[str, Any] = {"model": model}
        for metric in metrics:
            best = best_of(metric, {name: measured[name][metric.name] for name in baselines if name != model})
            if best is not None:
                gap = (measured[model][metric.name] - measured[best][metric.name]).to_json()
                row[metric.name] = None if gap is None else {"against": best, **gap}
        rows.append(row)
    return rows


def best_of(metric: Metric[T], estimates: Mapping[str, Estimate]) -> str | None:
    """The name of the best estimate in a metric; None if no estimate is defined."""
    sign = 1 if metric.higher_is_better else -1
    defined = {name: sign * estimate.value for name, estimate in estimates.items() if np.isfinite(estimate.value)}
    return max(defined, key=lambda name: defined[name], default=None)
