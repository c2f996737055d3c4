"""``pearl train level``"""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, check_writable, write_json
from training.choices import MOST_SEED

EXAMPLES = """
  pearl train level --model MODEL --history chat.jsonl.gz --scores chat-train.parquet --scores chat-dev.parquet
  pearl train level --model MODEL --history mine.jsonl.gz --work MODEL.work --json level.json
"""


def level(
    model: Path = typer.Option(..., metavar="MODEL", help="Artifact to write the level into."),
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="Scored history; repeatable."),
    scores: list[Path] = typer.Option(
        [],
        metavar="SCORES.parquet",
        help="Scores from pearl train score, of the train and dev splits; repeatable.",
    ),
    work: Path | None = typer.Option(
        None, metavar="FOLDER", help="Folder of scores and embeddings; by default MODEL.work."
    ),
    encoder: str = typer.Option("embedded", help="Dense encoder that the artifact was trained with."),
    proxies: int = typer.Option(60, min=0, help="Past texts of each user to label by overlap and learn from."),
    budget_minutes: float | None = typer.Option(
        None, min=0.1, help="Embed for at most about this many minutes, and learn from what is embedded."
    ),
    seed: int = typer.Option(0, min=0, max=MOST_SEED, help="Seed of every random choice."),
    json: str | None = JSON_OPTION,
) -> None:
    """Learn how much the chosen document helps in these kinds of text, and leave the choice as it is.

    The level is kept if the score's correlation with the gain is higher with it than before, on average over the
    histories, in 90% of resamples of dev's users. The floors and the probability that a document helps are then chosen
    again, and a theta that is a number becomes never: choose it again, and measure the artifact again.
    """
    from rich.console import Console

    from training.files import work_folder
    from training.level import set_level
    from training.options import TrainingOptions

    check_writable("--json", json, [*history, *scores])
    console = Console(stderr=True)
    options = TrainingOptions(
        histories=tuple(history),
        out=model,
        work=work_folder(work, model),
        encoder=encoder,
        proxies=proxies,
        scores=tuple(scores),
        budget_minutes=budget_minutes,
        seed=seed,
    )
    report = set_level(options, console)
    for kind, r in report["pearson_r"].items():
        console.print(f"{kind}: r {r['before']:.2f} before, {r['after']:.2f} after", highlight=False, markup=False)
    outcome = "is kept" if report["kept"] else "is not kept, the artifact stays as it was"
    console.print(
        f"higher in {100 * report['higher_in']:.4g}% of resamples: the level {outcome}", highlight=False, soft_wrap=True
    )
    if json:
        write_json(json, report)
