"""What a draft says about the source of its theta."""

from __future__ import annotations

import shlex

from retriever.base import UNCALIBRATED
from service.drafting.deciding import command, decision_point
from service.store.calibrations import CalibrationKey


def test_the_command_that_would_calibrate_can_be_pasted_into_a_shell() -> None:
    key = CalibrationKey("work mail", "bm25", "mock")
    point = decision_point(UNCALIBRATED, "Ann O'Hara", key, None, None)
    line = command("Ann O'Hara", "work mail")
    assert f"`{line}`" in point.decided_by.message
    assert shlex.split(line) == ["pearl", "calibrate", "--user", "Ann O'Hara", "--voice", "work mail"]
    assert command("ann", None) == "pearl calibrate --user ann"
