"""The command ``pearl eval``, with one subcommand per module of :mod:`eval.commands.studies`, and the other commands
that measure and judge."""

from __future__ import annotations

from eval.commands import studies
from pearl.cli.commands import group_of

app = group_of(
    studies, "Measure retrieval, calibration, generation, revision and judges, every figure with its interval."
)
