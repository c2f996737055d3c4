"""``pearl train select``"""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.options import JSON_OPTION, check_writable, write_json

EXAMPLES = """Examples:

\b
  pearl train select --scores work/scores.parquet --out work/groups.parquet
  pearl train select --scores git.parquet --scores coreboot.parquet --normalize mean --out groups.parquet --json -
"""


def select(
    scores: list[Path] = typer.Option(..., metavar="SCORES.parquet", help="Scores from pearl train score; repeatable."),
    out: Path = typer.Option(..., metavar="GROUPS.parquet", help="Write the groups to this file."),
    normalize: str = typer.Option("sum", help="Gain over the target's tokens: sum or mean."),
    share: float = typer.Option(
        2 / 3, min=0.0, max=1.0, help="Share of the requests to keep; 1 keeps all.", show_default="2/3"
    ),
    positives: int = typer.Option(2, min=1, help="Best candidates of a request to use as positives."),
    negatives: int = typer.Option(3, min=1, help="Random negatives of the same user for each positive."),
    seed: int = typer.Option(0, help="Seed of the negatives."),
    json: str | None = JSON_OPTION,
) -> None:
    """Show which requests pearl train fit learns from, and with which documents (Algorithm 1).

    Nothing is trained on this file: fit selects again, with the same options, and draws other negatives.
    """
    from training.data.selection import SelectionOptions
    from training.gains.groups import select_from, write_groups

    for option, target in (("--out", out), ("--json", json)):
        check_writable(option, target)
    selection = select_from(scores, SelectionOptions(normalize, share, positives, negatives, seed))
    write_groups(selection, out)
    made = selection.description
    low, high = made["y0_quartiles"]
    typer.echo(
        f"{made['groups']:,} groups of {made['requests_kept']:,} of {made['requests']:,} requests of {made['users']:,} "
        f"users in {out}; y0 {made['y0']:.2f}, quartiles {low:.2f} and {high:.2f}",
        err=True,
    )
    if json:
        write_json(json, made)
