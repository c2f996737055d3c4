"""``pearl train retriever``"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, RAY_OPTION, bundled, check_writable, write_json
from training.choices import CHOICES, FITTED_CHOICES, SCORED_CHOICES, SELECTION_CHOICES, choices_help, choices_of
from training.commands.options import (
    CHOOSE_OPTION,
    PRESET_OPTION,
    AuxiliaryFlags,
    DraftFlags,
    FittingFlags,
    RunFlags,
)

TRAINED, DRAFTED = 0.8, 0.9  # of the budget has passed when the drafts begin that the margin, and theta, is chosen on

ABOUT = choices_help([*(choice.name for choice in CHOICES), *SELECTION_CHOICES])
EXAMPLES = """
  pearl train retriever --history h.jsonl.gz --aux embedded --encoder embedded --out MODEL
  pearl train retriever --history a.jsonl.gz --history b.jsonl.gz --template commit --budget-minutes 60 --out MODEL
  pearl train retriever --history h.jsonl.gz --preset as_published --aux embedded --choose base=embedded --out SMALL
  pearl train retriever --history h.jsonl.gz --choose y0=median --choose max_tokens=256 --out MODEL
  pearl rank --model MODEL --input in.jsonl --output out.jsonl
"""


@bundled
def retriever(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="History file; repeatable."),
    out: Path = typer.Option(..., metavar="MODEL", help="Folder of the artifact."),
    work: Path | None = typer.Option(None, metavar="FOLDER", help="Folder to resume from; MODEL.work by default."),
    preset: str = PRESET_OPTION,
    choose: list[str] = CHOOSE_OPTION,
    auxiliary: AuxiliaryFlags = AuxiliaryFlags(),  # noqa: B008  (frozen)
    fitting: FittingFlags = FittingFlags(),  # noqa: B008
    drafts: DraftFlags = DraftFlags(),  # noqa: B008
    run: RunFlags = RunFlags(),  # noqa: B008
    ray: str | None = RAY_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Train a retriever from raw histories: score, select, fit, threshold.

    Users are split by their ids into those to train on, to choose by, and to measure with. Repeat an interrupted
    command and it goes on where it stopped.
    """
    from pearl.budget import Budget

    llm, metric = drafts.llm, drafts.metric
    minutes = fitting.budget_minutes
    budget = Budget(minutes)
    to_train = Budget(minutes and minutes * (TRAINED if llm else 1.0))

    from rich.console import Console

    from pearl.chat.choose import make_chat_model
    from pearl.errors import InputError, PearlError
    from pearl.settings import load_settings
    from training.choose.curves import check_metric

    check_metric(metric)
    check_writable("--json", json, history)
    names = (*SCORED_CHOICES, *FITTED_CHOICES, *SELECTION_CHOICES)
    chosen, _ = choices_of(preset, choose, names, aux=auxiliary.aux)
    if chosen["candidates"] in (1, 2):
        raise InputError(f"--choose candidates={chosen['candidates']}: give at least 3, or all.", param="choose")
    settings = load_settings(llm=llm)
    if llm:
        asyncio.run(make_chat_model(settings).close())  # what it lacks shows now, not after the training
    typer.echo("Loading the libraries that train, and the histories...", err=True)  # which takes seconds

    from retriever.calibrated.artifact import manifest_json
    from training.files import work_folder
    from training.finish import measured, with_margin, with_threshold
    from training.options import TrainingOptions
    from training.recipe import train_retriever
    from training.run import SCORED_TEST

    out = out.absolute()
    console = Console(stderr=True)
    options = TrainingOptions(
        histories=tuple(history),
        out=out,
        work=work_folder(work, out),
        preset=preset,
        **(asdict(auxiliary) | asdict(fitting) | chosen),
        **asdict(run),
        ray=ray,
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
