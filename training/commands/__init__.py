"""The commands ``pearl train``, one module for each step."""

from __future__ import annotations

from pearl.cli.commands import add_commands, group
from training.commands import (
    chat,
    fit,
    margin,
    requests,
    retriever,
    reward,
    score,
    select,
    threshold,
)

app = group("Train a retriever from histories, step by step, or a reward model.")
add_commands(app, requests, score, select, fit, margin, threshold, retriever, chat, reward)
