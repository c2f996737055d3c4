"""``pearl train reward``"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from pearl.cli.options import JSON_OPTION, bundled, check_writable, write_json
from pearl.settings import EMBEDDED
from training.choices import CORRECTED, MOST_SEED
from training.reward.choices import REWARD_PRESETS, reward_choices_help, reward_choices_of, reward_default

MINILM = "minilm"  # the embedded encoder by its architecture

ABOUT = reward_choices_help()
EXAMPLES = """
  pearl train reward --data lamp-R_train.json.gz --variant PR --out MODEL
  pearl train reward --data train.json --data more.jsonl --test val.json --variant R --seed 1 --out MODEL
  pearl train reward --data train.json --variant PR --preset as_published_code --base mpnet --budget-minutes 60 --out M
  pearl eval quality --pairs val.json --trained-on train.json --model MODEL
"""


@dataclass(frozen=True, slots=True)
class RewardFlags:
    """The choices of a preset; None for those that are not given."""

    base: Annotated[
        str | None,
        Option(
            help="Encoder: minilm (embedded), mpnet, or a transformers model or folder.",
            show_default=reward_default("base"),
        ),
    ] = None
    fitted: Annotated[
        str | None,
        Option(help="Weights to fit: head, or all, the encoder's too.", show_default=reward_default("fitted")),
    ] = None
    layers: Annotated[
        str | None,
        Option(
            metavar="N,N",
            help="Layers after which the mean over the tokens is taken, 0 the embeddings; or last.",
            show_default=reward_default("layers"),
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        Option(min=8, help="Tokens that are read of a text or a pair.", show_default=reward_default("max_tokens")),
    ] = None
    pair_rule: Annotated[
        str | None,
        Option(help="Verdict on a pair: by scores, or by cosine.", show_default=reward_default("pair_rule")),
    ] = None
    head: Annotated[str | None, Option(help="Head: linear or mlp.", show_default=reward_default("head"))] = None
    weight: Annotated[
        float | None,
        Option(min=0.0, help="Weight of the squared error of scores.", show_default=reward_default("weight")),
    ] = None
    average: Annotated[
        str | None,
        Option(
            help="Mean of a batch's losses: over its items, or over its kinds.", show_default=reward_default("average")
        ),
    ] = None
    penalty: Annotated[
        float | None,
        Option(min=0.0, help="Weight of the head's squared weights.", show_default=reward_default("penalty")),
    ] = None
    duplicates: Annotated[
        str | None,
        Option(help="Scores of one paragraph: their mean, or kept.", show_default=reward_default("duplicates")),
    ] = None
    lengths: Annotated[
        str | None,
        Option(help="Texts of a pair: whole, cut to one length, or both.", show_default=reward_default("lengths")),
    ] = None
    rate: Annotated[float | None, Option(min=1e-8, help="Learning rate.", show_default=reward_default("rate"))] = None
    schedule: Annotated[
        str | None,
        Option(
            help="Learning rate over the steps: constant, or linear, which rises and then falls.",
            show_default=reward_default("schedule"),
        ),
    ] = None
    clip: Annotated[
        float | None,
        Option(min=0.0, help="Largest norm of a step's gradients; 0 for any.", show_default=reward_default("clip")),
    ] = None
    epochs: Annotated[int | None, Option(min=1, help="Epochs at most.", show_default=reward_default("epochs"))] = None
    batch: Annotated[
        int | None, Option(min=1, help="Pairs and paragraphs of a step.", show_default=reward_default("batch"))
    ] = None
    dev_steps: Annotated[
        int | None,
        Option(
            min=0,
            help="Steps between two looks at the split to stop by; 0 for one an epoch.",
            show_default=reward_default("dev_steps"),
        ),
    ] = None


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
        CORRECTED, help=f"Choices to begin with: {', '.join(REWARD_PRESETS)}; an option given overrides them."
    ),
    choices: RewardFlags = RewardFlags(),
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
    from training.reward.options import RewardOptions
    from training.reward.recipe import train_reward

    check_writable("--json", json, [*data, *test, *other_kind])
    chosen = reward_choices_of(preset, asdict(choices))
    chosen["base"] = EMBEDDED if chosen["base"] == MINILM else chosen["base"]
    options = RewardOptions(
        data=tuple(data),
        out=out,
        work=work_folder(work, out),
        variant=variant,
        test=tuple(test),
        other_kind=tuple(other_kind),
        preset=preset,
        **chosen,
        **asdict(run),
    )
    artifact = train_reward(options, Console(stderr=True))
    if json:
        write_json(json, asdict(artifact))
