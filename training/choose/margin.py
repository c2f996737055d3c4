"""The margin: how far below the best document's score one may lie and still be shown.

``pearl eval shown`` measures margins on dev; here one of them is chosen. A score in nats says how much worse the others
are, so a prompt can have four documents where they are alike, and one where it stands far above the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from retriever.calibrated.artifact import read_whole, write_manifest
from training.choose.threshold import check_metric, curve_of


@dataclass(frozen=True, slots=True)
class Choice:
    """``margin`` None: no margin did better than showing all. ``documents``: how many are shown, a mean. ``curve`` is
    what it was chosen from."""

    margin: float | None
    metric: str
    value: float
    with_all: float
    documents: float
    curve: list[dict[str, Any]]


def choose_margin(curve: list[dict[str, Any]], metric: str) -> Choice:
    """The margin with the best mean; of equal ones the widest. Raises InputError without the metric."""
    points = [point for point in curve if point.get(metric) is not None]
    everything = next((point for point in points if point["margin"] is None), None)
    if everything is None:
        raise InputError(f"The curve has no figures of '{metric}' for all documents.", param="metric")
    widest_first = sorted(points, key=lambda point: -point["documents"]["value"])
    best = max(widest_first, key=lambda point: point[metric]["value"])  # the first of equal ones
    if best[metric]["value"] <= everything[metric]["value"]:
        best = everything
    return Choice(
        best["margin"],
        metric,
        best[metric]["value"],
        everything[metric]["value"],
        best["documents"]["value"],
        curve,
    )


def set_margin(folder: Path, report: Path, metric: str) -> Choice:
    """Choose the margin from a report of ``pearl eval shown`` on dev, and write it into the artifact.

    Raises InputError for an artifact that is not whole, and for a report without such figures of it.
    """
    check_metric(metric)
    artifact = read_whole(folder)
    choice = choose_margin(curve_of(folder, report, "shown"), metric)
    training = artifact.training | {"margin": {"metric": metric, "curve": choice.curve}}
    write_manifest(folder, replace(artifact, margin=choice.margin, training=training))
    return choice
