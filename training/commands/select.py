"""The command ``pearl train select``: select the groups to learn from."""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, bundled, check_outputs, write_json
from pearl.text.usable import counted
from training.config import CHOOSE_OPTION, CONFIG_OPTION, SELECTION_CHOICES, TrainingConfig, choices_help, read_config

CHOSEN = (*SELECTION_CHOICES, "seed")
ABOUT = choices_help(TrainingConfig, CHOSEN)
EXAMPLES = """
  pearl train select --scores work/scores.parquet --out work/groups.parquet
  pearl train select --scores a.parquet --scores b.parquet --choose normalize=mean --out groups.parquet --json -
  pearl train fit --history h.jsonl.gz --work MODEL.work --groups groups.parquet --out MODEL
"""


@bundled
def select(
    scores: list[Path] = typer.Option(..., metavar="SCORES.parquet", help="Scores from pearl train score; repeatable."),
    out: Path = typer.Option(..., metavar="GROUPS.parquet", help="Write the groups to this file."),
    config: Path | None = CONFIG_OPTION,
    choose: list[str] = CHOOSE_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Select the requests to learn from, and some documents of each (Algorithm 1).

    pearl train fit learns from the file with --groups; without it, fit selects by itself, with other negatives.
    """
    from training.data.selection import SelectionOptions
    from training.gains.groups import select_from, write_groups

    check_outputs({"--out": out, "--json": json}, scores)
    chosen, _ = read_config(TrainingConfig, config, choose, CHOSEN)
    selected = select_from(scores, SelectionOptions(**{name: chosen[name] for name in CHOSEN}))
    write_groups(selected, out)
    made = selected.description
    low, high = made["y0_quartiles"]
    typer.echo(
        f"{counted(made['groups'], 'group')} of {made['requests_kept']:,} of {counted(made['requests'], 'request')} of "
        f"{counted(made['users'], 'user')} in {out}; y0 {made['y0']:.2f}, quartiles {low:.2f} and {high:.2f}",
        err=True,
    )
    if json:
        write_json(json, made)
