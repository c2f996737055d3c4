"""The command ``pearl train retriever``: train a retriever from raw histories."""

from __future__ import annotations

import asyncio
from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, RAY_OPTION, bundled, check_writable, write_json
from training.config import (
    BUDGET_OPTION,
    CHOOSE_OPTION,
    CONFIG_OPTION,
    TrainingConfig,
    choices_help,
    choices_in,
    read_config,
)

TRAINED, DRAFTED = 0.8, 0.9  # of the budget has passed when the drafts begin that the margin, and theta, is chosen on

NOT_HERE = ("loss", "keep_cross_encoder", "least_candidates", "users")
CHOSEN = tuple(name for name in choices_in(TrainingConfig) if name not in NOT_HERE)
ABOUT = choices_help(TrainingConfig, CHOSEN)
EXAMPLES = """
  pearl train retriever --history h.jsonl.gz --aux embedded --encoder embedded --out MODEL
  pearl train retriever --history a.jsonl.gz --choose template=commit --budget-minutes 60 --out MODEL
  pearl train retriever --history h.jsonl.gz --config small.toml --out SMALL
  pearl train retriever --history h.jsonl.gz --choose y0=median --choose max_tokens=256 --out MODEL
  pearl rank --model MODEL --input in.jsonl --output out.jsonl
"""


@bundled
def retriever(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="History file; repeatable."),
    out: Path = typer.Option(..., metavar="MODEL", help="Folder of the artifact."),
    work: Path | None = typer.Option(None, metavar="FOLDER", help="Folder to resume from; MODEL.work by default."),
    config: Path | None = CONFIG_OPTION,
    choose: list[str] = CHOOSE_OPTION,
    aux: str | None = typer.Option(None, help="Auxiliary model, as --choose aux= names it."),
    encoder: str | None = typer.Option(None, help="Dense encoder, as --choose encoder= names it."),
    budget_minutes: float | None = BUDGET_OPTION,
    llm: str | None = typer.Option(None, help="Model whose drafts set margin and theta: embedded, openai or auto."),
    ray: str | None = RAY_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Train a retriever from raw histories: score, select, fit, threshold.

    Users are split by their ids into those to train on, to choose by, and to measure with. Repeat an interrupted
    command and it goes on where it stopped.
    """
    from pearl.clock import Budget

    budget = Budget(budget_minutes)
    to_train = Budget(budget_minutes and budget_minutes * (TRAINED if llm else 1.0))

    from rich.console import Console

    from pearl.errors import InputError, PearlError
    from pearl.models.chat.choose import make_chat_model
    from pearl.settings import load_settings
    from training.choose.operating_point import check_metric

    check_writable("--json", json, history)
    chosen, _ = read_config(TrainingConfig, config, choose, CHOSEN, aux=aux, encoder=encoder)
    metric = chosen["metric"]
    check_metric(metric)
    if chosen["candidates"] in (1, 2):
        raise InputError(f"--choose candidates={chosen['candidates']}: give at least 3, or all.")
    settings = load_settings(llm=llm)
    if llm:
        asyncio.run(make_chat_model(settings).close())  # what it lacks shows now, not after the training
    typer.echo("Loading the libraries that train, and the histories...", err=True)  # which takes seconds

    from retriever.calibrated.artifact import manifest_json
    from training.files import work_folder
    from training.finish import measured, with_margin, with_threshold
    from training.recipe import train_retriever
    from training.run import SCORED_TEST, TrainingOptions

    out = out.absolute()
    console = Console(stderr=True)
    options = TrainingOptions(
        histories=tuple(history),
        out=out,
        work=work_folder(work, out),
        budget_minutes=budget_minutes,
        **chosen,
        ray=ray or settings.ray,
    )
    train_retriever(options, console, to_train)
    failure: PearlError | None = None
    try:
        if llm:
            with_margin(options, llm, metric, budget.minutes_until(DRAFTED))
            with_threshold(options, llm, metric, budget.minutes_until(SCORED_TEST))
    except PearlError as error:  # the figures do not need them
        failure = error
    artifact = measured(options, budget, console)
    console.print(artifact.inherited(), highlight=False, soft_wrap=True)
    if json:
        write_json(json, {"model": str(out), **manifest_json(artifact)})
    if failure:
        raise failure
