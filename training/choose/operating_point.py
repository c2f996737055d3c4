"""The operating point of an artifact: margin and theta, chosen on what ``pearl eval`` measures on dev.

The margin is how far below the best document's score one may lie and still be shown: a score in nats says how much
worse the others are, so a prompt can have four documents where they are alike, and one where it stands far above the
rest. Theta is the best score below which a draft is revised (papers/pearl.txt, section 5.3). A margin or a theta that
is no better than chance (``pearl/stats/chance.py``) is not chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from retriever.calibrated.artifact import MANIFEST, Artifact, read_whole, write_manifest
from training.choose.curves import (
    MARGIN,
    THETA,
    MeasuredCurve,
    OperatingPoint,
    check_metric,
    choose_number,
    curve_of,
)
from training.files import check_place

THETAS = "thresholds"  # the accounts of theta by chat model
OUTDATED = "outdated"  # of an account of theta: what changed since its curve was measured


def set_margin(folder: Path, report: Path, metric: str) -> tuple[OperatingPoint, list[str]]:
    """Choose from a report on dev, and write the margin into the artifact; also the names of the thetas that become
    never with another margin, for it has other drafts written than those that they were chosen on.

    Raises InputError for an artifact that is not whole, and for a report without such figures of it.
    """
    check_metric(metric)
    artifact = _to_change(folder)
    curve = curve_of(folder, report, MARGIN)[0]
    chosen = choose_number(MARGIN, curve, metric)
    dropped: list[str] = []
    if chosen.number != artifact.margin:
        artifact, dropped = without_thetas(artifact, "the margin")
    training = artifact.training | {MARGIN.name: {"metric": metric, **curve.account}}
    write_manifest(folder, replace(artifact, margin=chosen.number, training=training))
    return chosen, dropped


def _to_change(folder: Path) -> Artifact:
    """The artifact to write a choice into. Raises InputError for one that is not whole, or may not be written to."""
    artifact = read_whole(folder)
    check_place("model", folder / MANIFEST)
    return artifact


def without_thetas(artifact: Artifact, changed: str) -> tuple[Artifact, list[str]]:
    """Return the artifact with never for each theta, and the names of the thetas that were dropped. Their accounts say
    what has ``changed`` since the drafts that they were chosen on, so that none is chosen from these again."""
    every = {f"of '{model}'": theta for model, theta in (artifact.thresholds or {}).items()}
    dropped = [name for name, theta in (every or {"": artifact.threshold}).items() if theta is not None]
    training = dict(artifact.training)
    if THETA.name in training:
        training[THETA.name] = training[THETA.name] | {OUTDATED: changed}
    if THETAS in training:
        training[THETAS] = {model: account | {OUTDATED: changed} for model, account in training[THETAS].items()}
    thresholds = artifact.thresholds and dict.fromkeys(artifact.thresholds)
    return replace(artifact, threshold=None, thresholds=thresholds, training=training), dropped


def dropped_words(dropped: Sequence[str]) -> str:
    """The sentence that says which thetas were dropped, and what to do."""
    names = "".join(f" {name}" for name in (" and ".join(filter(None, dropped)),) if name)
    return f"theta{names} was chosen before, and is 'never' now: choose it again by 'pearl train threshold'"


def set_threshold(folder: Path, report: Path | None, metric: str, chat_model: str | None = None) -> OperatingPoint:
    """Choose from a report on dev, and write theta into the artifact as that of the chat model that was measured.

    A report of before names none; then ``chat_model`` does, or theta is that of all. Without a report theta is chosen
    again from the curve that the artifact keeps. Raises InputError for an artifact that is not whole, for a report
    without such figures of it or of another chat model, and for an artifact without such a curve.
    """
    check_metric(metric)
    artifact = _to_change(folder)
    if report is None:
        chat_model, account = _kept_curve(folder, artifact.training, chat_model)
        curve = MeasuredCurve(account["curve"], account.get("by_chance", {}), folder)
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
        account = curve.account | ({"report": content["command"]} if "command" in content else {})
    chosen = choose_number(THETA, curve, metric)
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


def scorer_threshold(name: str, report: Path | None, metric: str) -> OperatingPoint:
    """Choose theta for a scorer that has no artifact to keep it in. Raises InputError without a report of it on dev."""
    check_metric(metric)
    if report is None:
        raise InputError(
            f"--model {name}: keeps no curve of theta; name a report of 'pearl eval revision' with --revision.",
            param="revision",
            code="no_such_curve",
        )
    return choose_number(THETA, curve_of(name, report, THETA)[0], metric)


def _kept_curve(folder: Path, training: Mapping[str, Any], chat_model: str | None) -> tuple[str | None, dict[str, Any]]:
    """The chat model of an earlier choice of theta and the artifact's account of it, one without a name for any."""
    curves: dict[str | None, dict[str, Any]] = {**training.get(THETAS, {})}
    if THETA.name in training:
        curves[None] = training[THETA.name]
    account: dict[str, Any] | None
    if chat_model is None and len(curves) == 1:
        chat_model, account = next(iter(curves.items()))
    else:
        account = curves.get(chat_model, curves.get(None)) if chat_model is not None else None
    if account is None:
        names = ", ".join(f"'{name}'" for name in curves if name is not None)
        kept = "no curve of theta; name"
        if names:
            kept = f"curves of theta for {names}; name one of them with --chat-model, or"
        raise InputError(
            f"{folder}: keeps {kept} a report of 'pearl eval revision' with --revision.",
            param="chat_model",
            code="no_such_curve",
        )
    if OUTDATED in account:
        raise InputError(
            f"{folder}: {account[OUTDATED]} has changed since its curve of theta was measured; name a new report of "
            "'pearl eval revision' with --revision.",
            param="revision",
            code="outdated_curve",
        )
    return chat_model, account
