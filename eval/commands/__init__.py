"""``pearl eval``: one module per command."""

from __future__ import annotations

from eval.commands import (
    agreement,
    best_of,
    calibration,
    content,
    corrected,
    edits,
    experts,
    generation,
    likeness,
    manner,
    personalized,
    quality,
    questions,
    retrieval,
    revision,
    shown,
    style,
)
from pearl.cli.commands import add_commands, group

app = group("Measure retrieval, calibration, generation, revision and judges, every figure with its interval.")
add_commands(app, retrieval, generation, calibration, revision, questions, shown, agreement, corrected)
add_commands(app, personalized, manner, experts, quality, best_of, edits, content, likeness, style)
