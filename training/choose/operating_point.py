"""The operating point of an artifact: margin and theta, chosen on the curves that ``pearl eval`` measures on dev.

The margin is how far below the best document's score another document may lie and still be shown. Theta bounds the best
document's score: below theta a draft is revised (papers/pearl.txt, section 5.3). A margin or theta that is no better
than chance (``pearl/stats/chance.py``) is not chosen.

A curve is kept as ``{"curve": [point, ...], "by_chance": {metric: p}}``; p is its best point's permutation p-value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.settings import EMBEDDED
from pearl.stats.chance import CHANCE
from pearl.theta import EVERYTHING, theta_json
from retriever.calibrated.artifact import MANIFEST, SHIPPED, Artifact, read_manifest, read_whole, write_manifest
from retriever.registry import UNTRAINED
from training.files import check_place

MACRO_F1 = "macro_f1"
METRICS = ("rouge2", "rouge1", "bertscore", MACRO_F1)
THETAS = "thresholds"  # the curves of theta in an artifact's training, by chat model
OUTDATED = "outdated"  # of a curve of theta: what changed since it was measured

Curve = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that is chosen for an artifact: the margin (how far below the best score a document may be shown) or
    theta (the score below which a draft is revised)."""

    name: str
    command: str  # of ``pearl eval``, which measures its curve
    coverage: str  # the figure of a point that says how much is shown, or revised
    unchanged: str  # the name of the metric where nothing is changed
    words: str  # the same, in a sentence


MARGIN = Setting("margin", "generation --by-count", "documents", "with_all", "with all documents")
THETA = Setting("threshold", "revision", "share_revised", "without_revision", "without revision")


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The number chosen for a setting (margin or theta), and the figures that it was chosen by."""

    setting: Setting
    number: float | None  # None: none raised the metric by more than chance, so nothing is changed
    best: float | None  # with the highest metric; None where none is higher than without
    by_chance: float | None  # the share of random exchanges whose best does as well; None where none is higher
    metric: str
    value: float  # of the metric, with the best
    unchanged: float  # of the metric, where nothing is changed
    coverage: float  # the setting's, as chosen
    curve: list[dict[str, Any]]  # the points chosen from

    def words(self, chosen: str, best: str) -> str:
        """Describe the choice in a sentence; ``chosen`` and ``best`` are words for the chosen and the best number."""
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
            self.setting.coverage: self.coverage,
            "curve": self.curve,
        }


def check_metric(name: str) -> None:
    """Check that ``name`` is one of METRICS, by which margin and theta are chosen. Raises InputError if not."""
    if name not in METRICS:
        raise InputError(f"--metric {name}: there are {', '.join(METRICS)}.")


def choose_number(setting: Setting, curve: Curve, metric: str) -> OperatingPoint:
    """Choose the margin or theta with the highest metric on a curve; of equal numbers, the one that changes least. None
    is chosen if no number raises the metric by more than chance. A theta without a number means ``all``: every draft is
    revised.

    Raises InputError if the curve lacks the metric of unchanged drafts.
    """
    points = [point for point in curve["curve"] if point.get(metric) is not None]
    shows = setting is MARGIN
    points.sort(key=lambda point: point[setting.coverage]["value"], reverse=shows)
    if not shows:
        points = [{**point, THETA.name: EVERYTHING} if point[THETA.name] is None else point for point in points]
    kept = (point for point in points if (point[MARGIN.name] is None if shows else not point[THETA.coverage]["value"]))
    unchanged = next(kept, None)
    if unchanged is None:
        names = [name for name in METRICS if any(point.get(name) is not None for point in curve["curve"])]
        others = f"; it has {', '.join(names)}: choose by --metric" if names else ""
        raise InputError(f"The curve has no figures of '{metric}' {setting.words}{others}.")
    best = max(points, key=lambda point: point[metric]["value"])
    if best[metric]["value"] <= unchanged[metric]["value"]:
        best = unchanged
    by_chance = None if best is unchanged else curve["by_chance"][metric]
    chosen = unchanged if by_chance is None or by_chance > CHANCE else best
    return OperatingPoint(
        setting,
        None if chosen is unchanged else chosen[setting.name],
        None if best is unchanged else best[setting.name],
        by_chance,
        metric,
        best[metric]["value"],
        unchanged[metric]["value"],
        chosen[setting.coverage]["value"],
        curve["curve"],
    )


def curve_of(measured: Path | str, report: Path, setting: Setting) -> tuple[Curve, dict[str, str]]:
    """Read a setting's curve from a report of ``pearl eval``; for theta, also the report's chat model and command.
    ``measured``: an artifact's folder, or a scorer's name. Raises InputError if the file is no such report, or is about
    another model. A report of a single model is accepted even if the artifact lay elsewhere."""
    try:
        content = json.loads(report.read_bytes(), parse_constant=_no_number)
        models = {model["model"]: model for model in content["models"]}
        mine = [own for model, own in models.items() if _same(model, measured)]
        own = next(iter(mine or models.values()))
        for point in own["curve"]:
            _check_point(point, setting)
        curve = {"curve": own["curve"], "by_chance": {name: float(share) for name, share in own["by_chance"].items()}}
        about = {} if setting is MARGIN else {name: str(content[name]) for name in ("chat_model", "command")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise InputError(
            f"{report}: is not a report of 'pearl eval {setting.command} --json' ({type(error).__name__}: {error})."
        ) from error
    if not mine and (len(models) > 1 or isinstance(measured, str) or _is_other(measured, next(iter(models)))):
        raise InputError(f"{report}: is about {', '.join(models)}, not about {measured}.")
    return curve, about


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def _same(model: str, measured: Path | str) -> bool:
    return model == measured if isinstance(measured, str) else Path(model).resolve() == measured.resolve()


def _check_point(point: dict[str, Any], setting: Setting) -> None:
    """Check that a point has the numbers that a choice reads. Raises KeyError or TypeError if not."""
    figures = [point[setting.coverage], *(point[name] for name in METRICS if point.get(name) is not None)]
    numbers = [figure["value"] for figure in figures]
    numbers += [] if point[setting.name] is None else [point[setting.name]]
    for number in numbers:
        if not isinstance(number, (int, float)):
            raise TypeError(f"{number!r} is not a number")


def _is_other(folder: Path, model: str) -> bool:
    """True if a report's model is not the folder's artifact: an untrained scorer, or an artifact with other files."""
    if model in UNTRAINED:
        return True
    named = SHIPPED if model == EMBEDDED else Path(model)
    return (named / MANIFEST).is_file() and read_manifest(named).files != read_manifest(folder).files


def set_margin(folder: Path, report: Path, metric: str) -> tuple[OperatingPoint, list[str]]:
    """Choose the margin (how far below the best score a document may be shown) from a report on dev, and write it into
    the artifact. Return the choice, and the chat models whose thetas were dropped, because another margin changes
    drafts.

    Raises InputError for an incomplete artifact, and for a report without the metric or about another model.
    """
    check_metric(metric)
    artifact = _to_change(folder)
    curve, _ = curve_of(folder, report, MARGIN)
    chosen = choose_number(MARGIN, curve, metric)
    dropped: list[str] = []
    if chosen.number != artifact.margin:
        artifact, dropped = _without_thetas(artifact, "the margin")
    training = artifact.training | {MARGIN.name: {"metric": metric, **curve}}
    write_manifest(folder, replace(artifact, margin=chosen.number, training=training))
    return chosen, dropped


def _to_change(folder: Path) -> Artifact:
    """Read the artifact to write a choice into. Raises InputError if it is incomplete or cannot be written to."""
    artifact = read_whole(folder)
    check_place("model", folder / MANIFEST)
    return artifact


def _without_thetas(artifact: Artifact, changed: str) -> tuple[Artifact, list[str]]:
    """Return the artifact with every theta set to never, and the chat models whose theta was dropped. Their curves are
    marked as outdated by what has ``changed``, so that no theta is chosen from them."""
    thresholds = artifact.thresholds or {}
    dropped = [model for model, theta in thresholds.items() if theta is not None]
    curves = {model: curve | {OUTDATED: changed} for model, curve in artifact.training.get(THETAS, {}).items()}
    training = artifact.training | ({THETAS: curves} if curves else {})
    never = dict.fromkeys(thresholds) or None
    return replace(artifact, threshold=None, thresholds=never, training=training), dropped


def dropped_words(dropped: Sequence[str]) -> str:
    """Say in a sentence that the thetas of these chat models were dropped, and what to do."""
    names = " and ".join(f"of '{model}'" for model in dropped)
    return f"theta {names} was chosen before, and is 'never' now: choose it again by 'pearl train threshold'"


def set_threshold(folder: Path, report: Path | None, metric: str, chat_model: str | None = None) -> OperatingPoint:
    """Choose theta (the score below which a draft is revised) from a report on dev, and write it into the artifact for
    the chat model that was measured.

    Without a report, theta is chosen from the curve that the artifact keeps for ``chat_model``, or from its only curve.
    Raises InputError for an incomplete artifact, for one without a curve, and for a report about another model.
    """
    check_metric(metric)
    artifact = _to_change(folder)
    if report is None:
        measured, curve = _kept_curve(folder, artifact.training.get(THETAS, {}), chat_model)
    else:
        curve, about = curve_of(folder, report, THETA)
        measured = about["chat_model"]
        if chat_model not in (None, measured):
            raise InputError(
                f"--chat-model {chat_model}: {report} measured drafts by '{measured}'; leave the option out."
            )
        curve["report"] = about["command"]
    chosen = choose_number(THETA, curve, metric)
    curves = artifact.training.get(THETAS, {}) | {measured: curve | {"metric": metric}}
    thresholds = (artifact.thresholds or {}) | {measured: chosen.number}
    training = artifact.training | {THETAS: curves}
    write_manifest(folder, replace(artifact, threshold=chosen.number, thresholds=thresholds, training=training))
    return chosen


def scorer_threshold(name: str, report: Path | None, metric: str) -> OperatingPoint:
    """Choose theta (the score below which a draft is revised) for a scorer without an artifact, such as BM25. Raises
    InputError without a ``report`` about the scorer."""
    check_metric(metric)
    if report is None:
        raise InputError(
            f"--model {name}: keeps no curve of theta; name a report of 'pearl eval revision' with --revision."
        )
    return choose_number(THETA, curve_of(name, report, THETA)[0], metric)


def _kept_curve(folder: Path, curves: Mapping[str, Curve], chat_model: str | None) -> tuple[str, Curve]:
    """Return the chat model and the curve that the artifact keeps from an earlier choice of theta."""
    if chat_model is None and len(curves) == 1:
        chat_model = next(iter(curves))
    if chat_model is None or chat_model not in curves:
        names = ", ".join(f"'{name}'" for name in curves)
        kept = (
            f"curves of theta for {names}; name one of them with --chat-model, or"
            if names
            else "no curve of theta; name"
        )
        raise InputError(f"{folder}: keeps {kept} a report of 'pearl eval revision' with --revision.")
    curve = curves[chat_model]
    if OUTDATED in curve:
        raise InputError(
            f"{folder}: {curve[OUTDATED]} has changed since its curve of theta was measured; name a new report of "
            "'pearl eval revision' with --revision."
        )
    return chat_model, curve
