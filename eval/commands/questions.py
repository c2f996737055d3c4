"""``pearl eval questions``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import EncoderName, Seed
from eval.commands.reporting import reporting
from eval.report.report import Report

EXAMPLES = """
  pearl eval questions --history commits.jsonl.gz --history mail.jsonl.gz --model embedded
  pearl eval questions --history chat.jsonl.gz --model embedded --ask-below -1.4 --users 100 --json -
  pearl eval questions --history chat.jsonl.gz --split dev --model MODEL --json questions.json
"""


@reporting("eval", "questions")
def questions(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="History file; repeatable."),
    model: str = typer.Option("embedded", metavar="MODEL", help="Retriever whose rule for asking is measured."),
    ask_below: float | None = typer.Option(
        None, help="Ask below this best score, in place of the retriever's own rule."
    ),
    ask_unrelated: float | None = typer.Option(
        None, help="Ask below this relatedness of the history, in place of the retriever's own."
    ),
    users: int = typer.Option(40, min=2, help="Users of each history at most."),
    split: str | None = typer.Option(None, help="Users of the history: train, dev or test, as in training; else all."),
    seed: Seed = 0,
    encoder: EncoderName = None,
) -> Report:
    """Measure how often requests end in a question to the user: a history's own, and another person's.

    With several histories also requests of the next one, which are of another kind.
    """
    from dataclasses import replace

    from rich.console import Console

    from eval.retrieval import questions as served
    from eval.retrieval.scoring import RememberingEncoder
    from pearl.history.files import read_histories
    from pearl.history.split import users_of
    from pearl.settings import load_settings
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import make_retriever

    retriever = make_retriever(model, RememberingEncoder(SentenceEncoder(load_settings(encoder=encoder).encoder)))
    calibration = retriever.calibration
    if ask_below is not None:
        calibration = replace(calibration, ask_below=ask_below)
    if ask_unrelated is not None:
        calibration = replace(calibration, ask_unrelated=ask_unrelated)
    console, histories = Console(stderr=True), []
    sampled = [served.sampled_users(users_of(read_histories(path), split), users, seed) for path in history]
    for place, path in enumerate(history):
        others = sampled[(place + 1) % len(sampled)].values() if len(sampled) > 1 else ()
        elsewhere = [documents[-1].request or "" for documents in others]
        with console.status(f"Ranking for {path.name}..."):
            asked = list(served.requests_of(sampled[place], retriever, calibration, elsewhere))
        histories.append(served.questions_figures(path.name, asked))
    floors = {"ask_below": calibration.ask_below, "ask_unrelated": calibration.ask_unrelated}
    return Report({"model": model, **floors, "histories": histories}, served.questions_tables)
