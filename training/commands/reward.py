"""The command ``pearl train reward``: train a reward model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, bundled, check_writable, write_json
from training.config import BUDGET_OPTION, CHOOSE_OPTION, CONFIG_OPTION, choices_help, read_config
from training.reward.config import RewardConfig, RewardOptions

ABOUT = choices_help(RewardConfig)
EXAMPLES = """
  pearl train reward --data lamp-R_train.json.gz --variant PR --out MODEL
  pearl train reward --data train.json --data more.jsonl --test val.json --variant R --choose seed=1 --out MODEL
  pearl train reward --data train.json --variant PR --choose preset=as_published_code --choose base=mpnet --out M
  pearl eval quality --pairs val.json --trained-on train.json --model MODEL
"""


@bundled
def reward(
    data: list[Path] = typer.Option(..., metavar="F.json", help="Scored paragraphs or pairs; repeatable."),
    out: Path = typer.Option(..., metavar="MODEL", help="Folder of the artifact."),
    variant: str = typer.Option("PR", help="Learn from pairs (P), from scores (R), or from both (PR)."),
    config: Path | None = CONFIG_OPTION,
    choose: list[str] = CHOOSE_OPTION,
    test: list[Path] = typer.Option(
        [], metavar="F.json", help="Records to measure with later: their paragraphs are left out; repeatable."
    ),
    other_kind: list[Path] = typer.Option(
        [],
        metavar="F.json",
        help="Pairs of another kind than the data, never learned from: a model that decides fewer of them than the "
        "best of shorter, longer and first is not marked as fit to ship; repeatable.",
    ),
    work: Path | None = typer.Option(None, metavar="FOLDER", help="Folder to resume from; MODEL.work by default."),
    budget_minutes: float | None = BUDGET_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Train a reward model: how well a paragraph is written, from 1 to 10.

    Two versions of a paragraph with different scores are a pair. A model of writers' edits may judge other texts worse
    than their length does: name pairs of another kind, and the artifact says whether the model may ship. Repeat an
    interrupted command and it goes on where it stopped.
    """
    from rich.console import Console

    from training.files import work_folder
    from training.reward.recipe import train_reward

    check_writable("--json", json, [*data, *test, *other_kind])
    options = RewardOptions(
        data=tuple(data),
        out=out,
        work=work_folder(work, out),
        variant=variant,
        test=tuple(test),
        other_kind=tuple(other_kind),
        budget_minutes=budget_minutes,
        **read_config(RewardConfig, config, choose)[0],
    )
    artifact = train_reward(options, Console(stderr=True))
    if json:
        write_json(json, asdict(artifact))
