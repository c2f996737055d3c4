"""Theta: below which s1 a draft is revised (papers/pearl.txt, section 5.3).

``pearl eval revision`` measures every possible theta on dev; here one of them is chosen.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from retriever.calibrated.artifact import read_whole, write_manifest

MACRO_F1 = "macro_f1"
METRICS = ("rouge2", "rouge1", "bertscore", MACRO_F1)


@dataclass(frozen=True, slots=True)
class Choice:
    """``threshold`` None: no theta did better than never revising. ``curve`` is what it was chosen from."""

    threshold: float | None
    metric: str
    value: float
    without_revision: float
    share_revised: float
    curve: list[dict[str, Any]]


def check_metric(name: str) -> None:
    if name not in METRICS:
        raise InputError(f"--metric {name}: there are {', '.join(METRICS)}.", param="metric", code="no_such_metric")


def choose_threshold(curve: list[dict[str, Any]], metric: str) -> Choice:
    """The theta with the best mean; of equal ones the one that revises least. Raises InputError without the metric."""
    points = [point for point in curve if point.get(metric) is not None and point["threshold"] is not None]
    if not points:
        raise InputError(f"The curve has no figures of '{metric}'.", param="metric", code="no_such_metric")
    points.sort(key=lambda point: point["share_revised"]["value"])
    none = points[0]
    if none["share_revised"]["value"] > 0:
        raise InputError("The curve has no point without revision.", code="not_a_curve")
    best = max(points, key=lambda point: point[metric]["value"])  # the first of equal ones
    helps = best[metric]["value"] > none[metric]["value"]
    return Choice(
        best["threshold"] if helps else None,
        metric,
        best[metric]["value"],
        none[metric]["value"],
        best["share_revised"]["value"] if helps else 0.0,
        curve,
    )


def set_threshold(folder: Path, report: Path, metric: str) -> Choice:
    """Choose theta from a report of ``pearl eval revision`` on dev, and write it into the artifact.

    Raises InputError for an artifact that is not whole, and for a report without such figures of it.
    """
    check_metric(metric)
    artifact = read_whole(folder)
    choice = choose_threshold(curve_of(folder, report, "revision"), metric)
    training = artifact.training | {"threshold": {"metric": metric, "curve": choice.curve}}
    write_manifest(folder, replace(artifact, threshold=choice.threshold, training=training))
    return choice


def curve_of(folder: Path, report: Path, command: str) -> list[dict[str, Any]]:
    """The artifact's curve in a report of ``pearl eval`` with this command; of a report of one model, wherever the
    artifact stood then, that one's. Raises InputError."""
    try:
        curves = {each["model"]: each["curve"] for each in json.loads(report.read_text(encoding="utf-8"))["models"]}
        mine = [curve for model, curve in curves.items() if Path(model).resolve() == folder.resolve()]
        found: list[dict[str, Any]] = next(iter(mine or curves.values()))
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise InputError(
            f"{report}: is not a report of 'pearl eval {command} --json' ({type(error).__name__}: {error}).",
            code="not_a_report",
        ) from error
    if not mine and len(curves) > 1:
        raise InputError(f"{report}: is about {', '.join(curves)}, not about {folder}.", code="other_model")
    return found
