"""``pearl eval``, a command for each module of :mod:`eval.commands.studies`, and the commands beside it."""

from __future__ import annotations

from eval.commands import studies
from pearl.cli.commands import group_of

app = group_of(
    studies, "Measure retrieval, calibration, generation, revision and judges, every figure with its interval."
)
