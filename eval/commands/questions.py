"""``pearl eval questions``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from pearl.options import ENCODER_OPTION, JSON_OPTION

EXAMPLES = """Examples:

\b
  pearl eval questions --history commits.jsonl.gz --history mail.jsonl.gz --model embedded
  pearl eval questions --history chat.jsonl.gz --model embedded --ask-below -1.4 --users 100 --json -
"""


def questions(
    history: list[Path] = typer.Option(..., "--history", metavar="H.jsonl.gz", help="History file; repeatable."),
    model: str = typer.Option("embedded", "--model", metavar="MODEL", help="Retriever whose second floor is measured."),
    ask_below: float | None = typer.Option(None, "--ask-below", help="Second floor in place of the retriever's own."),
    users: int = typer.Option(40, "--users", min=2, help="Users of each history at most."),
    seed: int = typer.Option(0, "--seed", min=0, help="Seed of the sample of users."),
    encoder: str | None = ENCODER_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how often a history ends in a question: its own person's requests, and another person's."""
    from dataclasses import replace

    from rich.console import Console

    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from eval.retrieval.questions import questions_figures, questions_tables, requests_of, sampled_users, users_of
    from eval.retrieval.scoring import RememberingEncoder
    from pearl.settings import load_settings
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import make_retriever

    outputs = Outputs(json)
    outputs.check()
    retriever = make_retriever(model, RememberingEncoder(SentenceEncoder(load_settings(encoder=encoder).encoder)))
    calibration = retriever.calibration
    if ask_below is not None:
        calibration = replace(calibration, ask_below=ask_below)
    console, found = Console(stderr=True), []
    for path in history:
        sampled = sampled_users(users_of(path), users, seed)
        with console.status(f"Ranking for {path.name}..."):
            found.append(questions_figures(path.name, list(requests_of(sampled, retriever, calibration))))
    told: dict[str, Any] = {"history": history, "model": model, "ask_below": ask_below, "users": users, "seed": seed}
    figures = {"model": model, "ask_below": calibration.ask_below, "histories": found}
    outputs.write(Report(Head.of("eval", "questions", **told, encoder=encoder), figures, questions_tables))
