"""``pearl train reward``"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from pearl.cli.options import JSON_OPTION, bundled, check_writable, write_json
from training.choices import CORRECTED, MOST_SEED
from training.commands.options import CHOOSE_OPTION
from training.reward.choices import REWARD_PRESETS, reward_choices_help, reward_choices_of

ABOUT = reward_choices_help()
EXAMPLES = """
  pearl train reward --data lamp-R_train.json.gz --variant PR --out MODEL
  pearl train reward --data train.json --data more.jsonl --test val.json --variant R --seed 1 --out MODEL
  pearl train reward --data train.json --variant PR --preset as_published_code --choose base=mpnet --out M
  pearl eval quality --pairs val.json --trained-on train.json --model MODEL
"""


@dataclass(frozen=True, slots=True)
class RewardRunFlags:
    """The limits of a training, its device, and its seed."""

    dev_share: Annotated[float, Option(min=0.01, max=0.5, help="Share of the underlying paragraphs to stop by.")] = 0.1
    patience: Annotated[int, Option(min=1, help="Stop after this many epochs without a better loss on them.")] = 5
    budget_minutes: Annotated[
        float | None, Option(min=0.1, help="Stop fitting after this many minutes and keep the best epoch so far.")
    ] = None
    device: Annotated[str, Option(help="Device: cpu or cuda.")] = "cpu"
    seed: Annotated[int, Option(min=0, max=MOST_SEED, help="Seed of the split, of the order and of the weights.")] = 0


@bundled
def reward(
    data: list[Path] = typer.Option(..., metavar="F.json", help="Scored paragraphs or pairs; repeatable."),
    out: Path = typer.Option(..., metavar="MODEL", help="Folder of the artifact."),
    variant: str = typer.Option("PR", help="Learn from pairs (P), from scores (R), or from both (PR)."),
    preset: str = typer.Option(
        CORRECTED, help=f"Choices to begin with: {', '.join(REWARD_PRESETS)}; --choose overrides them."
    ),
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
    run: RewardRunFlags = RewardRunFlags(),
    json: str | None = JSON_OPTION,
) -> None:
    """Train a reward model: how well a paragraph is written, from 1 to 10.

    Two versions of a paragraph with different scores are a pair. A model of writers' edits may know less of other texts
    than their length says: name pairs of another kind, and the artifact says whether the model may ship. Repeat an
    interrupted command and it goes on where it stopped.
    """
    from rich.console import Console

    from training.files import work_folder
    from training.reward.choices import RewardOptions
    from training.reward.recipe import train_reward

    check_writable("--json", json, [*data, *test, *other_kind])
    options = RewardOptions(
        data=tuple(data),
        out=out,
        work=work_folder(work, out),
        variant=variant,
        test=tuple(test),
        other_kind=tuple(other_kind),
        preset=preset,
        **reward_choices_of(preset, choose),
        **asdict(run),
    )
    artifact = train_reward(options, Console(stderr=True))
    if json:
        write_json(json, asdict(artifact))
