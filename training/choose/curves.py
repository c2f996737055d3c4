"""The curves of margin and theta that ``pearl eval`` measures on dev, and the best point of each.

What is no better than chance (``pearl/stats/chance.py``) is not chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.settings import EMBEDDED
from pearl.stats.chance import CHANCE
from pearl.theta import EVERYTHING, theta_json
from retriever.calibrated.artifact import MANIFEST, SHIPPED, read_manifest
from retriever.registry import UNTRAINED

MACRO_F1 = "macro_f1"
METRICS = ("rouge2", "rouge1", "bertscore", MACRO_F1)

Curve = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Setting:
    """A number of the artifact that is chosen."""

    name: str
    command: str  # of ``pearl eval``, which measures its curve
    extent: str  # the figure of a point that says how much is shown, or revised
    unchanged: str  # the name of the metric where nothing is changed
    words: str  # the same, in a sentence


MARGIN = Setting("margin", "generation --by-count", "documents", "with_all", "with all documents")
THETA = Setting("threshold", "revision", "share_revised", "without_revision", "without revision")


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """``number`` None: none raised the metric by more than chance, so nothing is changed. ``best`` is the number with
    the highest metric, ``by_chance`` the share of random exchanges whose best does as well; None where none is higher.
    ``value`` and ``unchanged`` are the metric's with the best and without it, ``extent`` is the setting's as chosen,
    ``curve`` is what it was chosen from."""

    setting: Setting
    number: float | None
    best: float | None
    by_chance: float | None
    metric: str
    value: float
    unchanged: float
    extent: float
    curve: Curve

    def words(self, chosen: str, best: str) -> str:
        """The choice in a sentence; ``chosen`` names what is done, ``best`` the best number."""
        doubt = f", for {best} is no better than chance" if self.best is not None and self.number is None else ""
        chance = "" if self.by_chance is None else f", as much by chance in {100 * self.by_chance:.3g}% of exchanges"
        figures = f"{self.value:.4f} at best, {self.unchanged:.4f} {self.setting.words}"
        return f"{chosen}{doubt}: {self.metric} {figures}{chance}"

    def to_json(self) -> dict[str, Any]:
        return {
            self.setting.name: theta_json(self.number),
            "metric": self.metric,
            "best": theta_json(self.best),
            "by_chance": self.by_chance,
            "value": self.value,
            self.setting.unchanged: self.unchanged,
            self.setting.extent: self.extent,
            "curve": self.curve,
        }


@dataclass(frozen=True, slots=True)
class MeasuredCurve:
    """The points of a report, and by metric the share of random exchanges whose best point does as well as theirs; a
    report of an earlier version does not have these. ``source`` names the report, or the artifact that keeps it."""

    points: Curve
    by_chance: Mapping[str, float]
    source: Path

    @property
    def account(self) -> dict[str, Any]:
        """The curve as an artifact keeps it."""
        return {"curve": self.points} | ({"by_chance": dict(self.by_chance)} if self.by_chance else {})


def check_metric(name: str) -> None:
    """Raises InputError for another metric than those that curves have."""
    if name not in METRICS:
        raise InputError(f"--metric {name}: there are {', '.join(METRICS)}.", param="metric", code="no_such_metric")


def choose_number(setting: Setting, curve: MeasuredCurve, metric: str) -> OperatingPoint:
    """Choose the number of the point with the highest metric, of equal ones the one that changes least; none if no
    point is higher by more than chance. A theta may also be ``all``, as its point without a number is called.

    Raises InputError for a curve without the metric where nothing is changed.
    """
    points = [point for point in curve.points if point.get(metric) is not None]
    shows = setting is MARGIN
    points.sort(key=lambda point: point[setting.extent]["value"], reverse=shows)
    if not shows:
        points = [{**point, THETA.name: EVERYTHING} if point[THETA.name] is None else point for point in points]
    kept = (point for point in points if (point[MARGIN.name] is None if shows else not point[THETA.extent]["value"]))
    unchanged = next(kept, None)
    if unchanged is None:
        names = [name for name in METRICS if any(point.get(name) is not None for point in curve.points)]
        others = f"; it has {', '.join(names)}: choose by --metric" if names else ""
        raise InputError(f"The curve has no figures of '{metric}' {setting.words}{others}.", param="metric")
    best = max(points, key=lambda point: point[metric]["value"])
    if best[metric]["value"] <= unchanged[metric]["value"]:
        best = unchanged
    by_chance = None if best is unchanged else curve.by_chance.get(metric)
    if best is not unchanged and by_chance is None:
        raise InputError(
            f"{curve.source}: does not say whether its best {setting.name} is better than by chance, for an earlier "
            f"version made it; run 'pearl eval {setting.command} --json' again.",
            code="no_chance",
        )
    chosen = unchanged if by_chance is None or by_chance > CHANCE else best
    return OperatingPoint(
        setting,
        None if chosen is unchanged else chosen[setting.name],
        None if best is unchanged else best[setting.name],
        by_chance,
        metric,
        best[metric]["value"],
        unchanged[metric]["value"],
        chosen[setting.extent]["value"],
        curve.points,
    )


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def curve_of(measured: Path | str, report: Path, setting: Setting) -> tuple[MeasuredCurve, dict[str, Any]]:
    """The curve of an artifact's folder, or of a scorer by name, in a report of the command that measures the setting,
    and the report; of a report of one model, wherever the artifact stood then, that one's. Raises InputError, also
    where that model is known to be another one."""
    try:
        content = json.loads(report.read_bytes(), parse_constant=_no_number)
        models = {model["model"]: model for model in content["models"]}
        mine = [own for model, own in models.items() if _same(model, measured)]
        own = next(iter(mine or models.values()))
        for point in own["curve"]:
            _check_point(point, setting)
        by_chance = {name: float(share) for name, share in own.get("by_chance", {}).items()}
        curve = MeasuredCurve(own["curve"], by_chance, report)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise InputError(
            f"{report}: is not a report of 'pearl eval {setting.command} --json' ({type(error).__name__}: {error}).",
            code="not_a_report",
        ) from error
    if not mine and (len(models) > 1 or isinstance(measured, str) or _is_other(measured, next(iter(models)))):
        raise InputError(f"{report}: is about {', '.join(models)}, not about {measured}.", code="other_model")
    return curve, content


def _same(model: str, measured: Path | str) -> bool:
    return model == measured if isinstance(measured, str) else Path(model).resolve() == measured.resolve()


def _check_point(point: dict[str, Any], setting: Setting) -> None:
    """Raises KeyError or TypeError for a point without what a choice reads of it."""
    figures = [point[setting.extent], *(point[name] for name in METRICS if point.get(name) is not None)]
    numbers = [figure["value"] for figure in figures]
    numbers += [] if point[setting.name] is None else [point[setting.name]]
    for number in numbers:
        if not isinstance(number, (int, float)):
            raise TypeError(f"{number!r} is not a number")


def _is_other(folder: Path, model: str) -> bool:
    """True where the model of a report is no artifact, or one that scores otherwise than the folder's."""
    if model in UNTRAINED:
        return True
    named = SHIPPED if model == EMBEDDED else Path(model)
    return (named / MANIFEST).is_file() and read_manifest(named).files != read_manifest(folder).files
