"""The operating point of an artifact: margin, theta and question floor, chosen on what ``pearl eval`` measures on dev.

The margin is how far below the best document's score one may lie and still be shown: a score in nats says how much
worse the others are, so a prompt can have four documents where they are alike, and one where it stands far above the
rest. Theta is the best score below which a draft is revised (papers/pearl.txt, section 5.3). The floor is the
relatedness of a history below which the user is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.settings import EMBEDDED
from pearl.theta import EVERYTHING, theta_json
from retriever.calibrated.artifact import MANIFEST, SHIPPED, read_manifest, read_whole, write_manifest
from retriever.registry import UNTRAINED

MACRO_F1 = "macro_f1"
GAIN = "gain"  # of the documents together, which no draft is needed for
METRICS = ("rouge2", "rouge1", "bertscore", MACRO_F1, GAIN)

Curve = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Setting:
    """A number of the artifact that is chosen: its name, the command of ``pearl eval`` that measures its curve, the
    figure of a point that says how much it changes, and the name of the metric where nothing is changed."""

    name: str
    command: str
    extent: str
    unchanged: str


MARGIN = Setting("margin", "shown", extent="documents", unchanged="with_all")
THETAS = "thresholds"  # the accounts of theta by chat model
THETA = Setting("threshold", "revision", extent="share_revised", unchanged="without_revision")


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """``number`` None: none raised the metric, so nothing is changed. ``value`` and ``unchanged`` are the metric's with
    it and without, ``extent`` is the setting's, ``curve`` is what it was chosen from."""

    setting: Setting
    number: float | None
    metric: str
    value: float
    unchanged: float
    extent: float
    curve: Curve

    def to_json(self) -> dict[str, Any]:
        return {
            self.setting.name: theta_json(self.number),
            "metric": self.metric,
            "value": self.value,
            self.setting.unchanged: self.unchanged,
            self.setting.extent: self.extent,
            "curve": self.curve,
        }


def check_metric(name: str) -> None:
    """Raises InputError for a metric that no curve has."""
    if name not in METRICS:
        raise InputError(f"--metric {name}: there are {', '.join(METRICS)}.", param="metric", code="no_such_metric")


def set_margin(folder: Path, report: Path, metric: str) -> OperatingPoint:
    """Choose from a report on dev, and write the margin into the artifact.

    Raises InputError for an artifact that is not whole, and for a report without such figures of it.
    """
    check_metric(metric)
    artifact = read_whole(folder)
    chosen = choose_margin(curve_of(folder, report, MARGIN)[0], metric)
    training = artifact.training | {MARGIN.name: {"metric": metric, "curve": chosen.curve}}
    write_manifest(folder, replace(artifact, margin=chosen.number, training=training))
    return chosen


def set_threshold(folder: Path, report: Path | None, metric: str, chat_model: str | None = None) -> OperatingPoint:
    """Choose from a report on dev, and write theta into the artifact as that of the chat model that was measured.

    A report of before names none; then ``chat_model`` does, or theta is that of all. Without a report theta is chosen
    again from the curve that the artifact keeps. Raises InputError for an artifact that is not whole, for a report
    without such figures of it or of another chat model, and for an artifact without such a curve.
    """
    check_metric(metric)
    artifact = read_whole(folder)
    if report is None:
        chat_model, account = _kept_curve(folder, artifact.training, chat_model)
    else:
        curve, content = curve_of(folder, report, THETA)
        named = content.get("chat_model") or chat_model
        if chat_model not in (None, named):
            raise InputError(
                f"--chat-model {chat_model}: {report} measured drafts by '{named}'; leave the option out.",
                param="chat_model",
                code="other_model",
            )
        chat_model = named
        account = {"curve": curve} | ({"report": content["command"]} if "command" in content else {})
    chosen = choose_threshold(account["curve"], metric)
    account = account | {"metric": metric}
    training, thresholds = dict(artifact.training), artifact.thresholds
    training.pop(THETA.name, None)
    if chat_model is None:
        training[THETA.name] = account
    else:
        training[THETAS] = training.get(THETAS, {}) | {chat_model: account}
        thresholds = (thresholds or {}) | {chat_model: chosen.number}
    write_manifest(folder, replace(artifact, threshold=chosen.number, thresholds=thresholds, training=training))
    return chosen


def _kept_curve(folder: Path, training: Mapping[str, Any], chat_model: str | None) -> tuple[str | None, dict[str, Any]]:
    """The chat model of an earlier choice of theta and the artifact's account of it, one without a name for any."""
    curves: dict[str | None, dict[str, Any]] = {**training.get(THETAS, {})}
    if THETA.name in training:
        curves[None] = training[THETA.name]
    if chat_model is None and len(curves) == 1:
        return next(iter(curves.items()))
    account = curves.get(chat_model, curves.get(None))
    if account is None or chat_model is None:
        names = ", ".join(f"'{name}'" for name in curves if name is not None)
        raise InputError(
            f"{folder}: keeps curves of theta for {names or 'no chat model'}; name one of them with --chat-model, or a "
            "report with --revision.",
            param="chat_model",
            code="no_such_curve",
        )
    return chat_model, account


def set_question_floor(folder: Path, report: Path) -> float:
    """Write the relatedness below which the user is asked into the artifact: the least of the report's histories, for
    what is enough in one kind of text must be enough in all.

    Raises InputError for an artifact that is not whole, for a report of another command, and where the retriever does
    not know what a history has to do with a request.
    """
    artifact = read_whole(folder)
    try:
        histories = _read_report(report)["histories"]
        floors = {str(history["history"]): float(history["ask_unrelated"]) for history in histories}
        floor = min(floors.values())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{report}: is not a report of 'pearl eval questions --json' with relatedness "
            f"({type(error).__name__}: {error}).",
            code="not_a_report",
        ) from error
    training = artifact.training | {"ask_unrelated": floors}
    write_manifest(folder, replace(artifact, ask_unrelated=floor, training=training))
    return floor


def choose_margin(curve: Curve, metric: str) -> OperatingPoint:
    """The margin with the best mean; of equal ones the widest. Raises InputError without the metric."""
    points = [point for point in curve if point.get(metric) is not None]
    everything = next((point for point in points if point["margin"] is None), None)
    if everything is None:
        raise InputError(f"The curve has no figures of '{metric}' for all documents{_others(curve)}.", param="metric")
    points.sort(key=lambda point: -point["documents"]["value"])
    return _best(MARGIN, curve, points, everything, metric)


def choose_threshold(curve: Curve, metric: str) -> OperatingPoint:
    """The theta with the best mean, also ``all``, as the curve's point without a number is called; of equal ones the
    one that revises least. Raises InputError without the metric."""
    points = [
        point | {"threshold": EVERYTHING if point["threshold"] is None else point["threshold"]}
        for point in curve
        if point.get(metric) is not None
    ]
    if not points:
        raise InputError(
            f"The curve has no figures of '{metric}'{_others(curve)}.", param="metric", code="no_such_metric"
        )
    points.sort(key=lambda point: point["share_revised"]["value"])
    if points[0]["share_revised"]["value"] > 0:
        raise InputError("The curve has no point without revision.", code="not_a_curve")
    return _best(THETA, curve, points, points[0], metric)


def _others(curve: Curve) -> str:
    """The end of a message: the metrics that a curve does have, to choose from."""
    names = [name for name in METRICS if any(point.get(name) is not None for point in curve)]
    return f"; it has {', '.join(names)}: choose by --metric" if names else ""


def _best(setting: Setting, curve: Curve, points: Curve, unchanged: dict[str, Any], metric: str) -> OperatingPoint:
    """The point with the highest metric, the first of equal ones, or the one that changes nothing if none is higher."""
    best = max(points, key=lambda point: point[metric]["value"])
    helps = best[metric]["value"] > unchanged[metric]["value"]
    chosen = best if helps else unchanged
    return OperatingPoint(
        setting,
        best[setting.name] if helps else None,
        metric,
        chosen[metric]["value"],
        unchanged[metric]["value"],
        chosen[setting.extent]["value"],
        curve,
    )


def _read_report(path: Path) -> Any:
    """The content of a JSON file, in UTF-8 or as PowerShell's > writes it. Raises OSError and ValueError."""
    return json.loads(path.read_bytes())


def curve_of(folder: Path, report: Path, setting: Setting) -> tuple[Curve, dict[str, Any]]:
    """The artifact's curve in a report of the command that measures the setting, and the report; of a report of one
    model, wherever the artifact stood then, that one's. Raises InputError, also where that model is known to be another
    one."""
    try:
        content = _read_report(report)
        models = content["models"]
        curves = {model["model"]: model["curve"] for model in models}
        mine = [curve for model, curve in curves.items() if Path(model).resolve() == folder.resolve()]
        curve: Curve = next(iter(mine or curves.values()))
        for point in curve:
            point[setting.name], point[setting.extent]["value"]
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise InputError(
            f"{report}: is not a report of 'pearl eval {setting.command} --json' ({type(error).__name__}: {error}).",
            code="not_a_report",
        ) from error
    if not mine and (len(curves) > 1 or _is_other(folder, next(iter(curves)))):
        raise InputError(f"{report}: is about {', '.join(curves)}, not about {folder}.", code="other_model")
    return curve, content


def _is_other(folder: Path, model: str) -> bool:
    """True where the model of a report is no artifact, or one that scores otherwise than the folder's."""
    if model in UNTRAINED:
        return True
    named = SHIPPED if model == EMBEDDED else Path(model)
    return (named / MANIFEST).is_file() and read_manifest(named).files != read_manifest(folder).files
