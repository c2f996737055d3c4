"""The command ``pearl train fit``: fit a retriever on existing scores."""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.options import bundled
from pearl.errors import InputError
from training.config import (
    BUDGET_OPTION,
    CHOOSE_OPTION,
    CONFIG_OPTION,
    FITTED_CHOICES,
    SELECTION_CHOICES,
    TrainingConfig,
    choices_help,
    read_config,
)

KEPT = ("encoder", "first_stage_only", "keep_cross_encoder", "device", "seed")
CHOSEN = ("preset", *FITTED_CHOICES, *SELECTION_CHOICES, "loss", *KEPT)
ABOUT = choices_help(TrainingConfig, CHOSEN)
EXAMPLES = """
  pearl train fit --history a.jsonl.gz --history b.jsonl.gz --work MODEL.work --choose loss=kl --out work/plain-kl
  pearl train fit --history a.jsonl.gz --work MODEL.work --choose first_stage_only=yes --out work/a-alone
  pearl train fit --history a.jsonl.gz --scores train.parquet --scores dev.parquet --groups groups.parquet --out MODEL
  pearl train fit --history a.jsonl.gz --work MODEL.work --choose weight=1 --choose base=mpnet --out work/alone
"""


@bundled
def fit(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="Scored history; repeatable."),
    out: Path = typer.Option(..., metavar="MODEL", help="Folder of the artifact."),
    scores: list[Path] = typer.Option(
        [],
        metavar="SCORES.parquet",
        help="Scores from pearl train score, of the train and dev splits, and of test to measure with; repeatable.",
    ),
    work: Path | None = typer.Option(
        None,
        metavar="FOLDER",
        help="Folder of intermediate results, where pearl train retriever left its scores; by default MODEL.work.",
    ),
    groups: Path | None = typer.Option(
        None, metavar="GROUPS.parquet", help="Learn from these groups of pearl train select; by default fit selects."
    ),
    config: Path | None = CONFIG_OPTION,
    choose: list[str] = CHOOSE_OPTION,
    budget_minutes: float | None = BUDGET_OPTION,
) -> None:
    """Fit a retriever on existing scores, with another loss, on fewer histories, or without a cross-encoder.

    The choices share, positives and negatives decide which groups it learns from (Algorithm 1); --groups takes those
    that pearl train select wrote. Scores of the test split only measure the artifact.
    """
    from rich.console import Console

    from pearl.clock import Budget
    from training.files import work_folder
    from training.finish import measured
    from training.recipe import fit_retriever
    from training.run import TrainingOptions

    chosen, _ = read_config(TrainingConfig, config, choose, CHOSEN)
    told = {word.partition("=")[0].strip() for word in choose}  # a file of all steps may say more
    for name in told & set(SELECTION_CHOICES) if groups is not None else ():
        raise InputError(f"--choose {name}: is what --groups was selected with; leave one of them out.")
    console = Console(stderr=True)
    options = TrainingOptions(
        histories=tuple(history),
        out=out,
        work=work_folder(work, out),
        scores=tuple(scores),
        groups=groups,
        budget_minutes=budget_minutes,
        **chosen,
    )
    artifact = fit_retriever(options, console)
    if artifact.training["test_requests"]:
        artifact = measured(options, Budget(None), console)
    console.print(artifact.inherited(), highlight=False, soft_wrap=True)
