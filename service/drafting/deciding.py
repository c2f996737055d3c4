"""The source of a draft's theta, margin and k: set by hand, calibrated for this person, or the retriever's own."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace

from pearl.records import DecidedBy
from pearl.theta import ALL, EVERYTHING, read_theta
from retriever.base import Calibration
from service.store.calibrations import CalibrationKey, StoredCalibration

LEAST_TEXTS = 30  # that a calibration takes
CALIBRATED, BY_HAND, NOT_CALIBRATED = "calibrated", "by_hand", "not_calibrated"


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """A draft's theta (revise below it), margin and k (documents to show), and where these values come from."""

    calibration: Calibration
    k: int | None  # documents shown; None: the template's number
    decided_by: DecidedBy


def decision_point(
    trained: Calibration,
    user: str,
    key: CalibrationKey,
    stored: StoredCalibration | None,
    revise_below: str | None,
) -> DecisionPoint:
    """Choose theta, margin and k for a draft. ``trained``: the retriever's values; ``stored``: the user's calibration
    for the ``key``, which overrides them; ``revise_below``: a theta set by hand, which overrides both."""
    calibration, k = trained.with_model(key.model), None
    decided_by = DecidedBy(
        NOT_CALIBRATED,
        None,
        f"Nothing is calibrated for '{key.model}' with this retriever; `{command(user, key.voice)}` would do it, from "
        f"{LEAST_TEXTS} past texts on that have their request and another text before them.",
    )
    if stored is not None:
        calibration, k = apply(calibration, stored)
        day = time.strftime("%Y-%m-%d", time.gmtime(stored.created_at))
        texts = stored.figures.get("texts")
        decided_by = DecidedBy(CALIBRATED, stored.id, f"Calibrated on {day} on {texts} past texts.")
    if revise_below is not None:
        calibration = replace(calibration, threshold=read_theta(revise_below))
        decided_by = DecidedBy(BY_HAND, decided_by.id, "PEARL_REVISE_BELOW sets the threshold by hand.")
    return DecisionPoint(calibration, k, decided_by)


def apply(trained: Calibration, stored: StoredCalibration) -> tuple[Calibration, int | None]:
    """Replace trained values by those that a calibration chose; return them, and its k, or None if it chose none."""
    settings = stored.settings
    calibration = trained
    if "threshold" in settings:
        theta = settings["threshold"]
        calibration = replace(calibration, threshold=EVERYTHING if theta == ALL else theta)
    if "margin" in settings:
        calibration = replace(calibration, margin=settings["margin"])
    return calibration, settings.get("k")


def command(user: str, voice: str | None) -> str:
    """Return the command line that calibrates for this user and voice."""
    return shlex.join(["pearl", "calibrate", "--user", user, *(("--voice", voice) if voice else ())])
