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
    scores: list[Path] = typer.Option(..., metavar="SCORES.parquet", help="Of pearl train score; may be repeated."),
    out: Path = typer.Option(..., metavar="GROUPS.parquet", help="Where the groups go."),
    normalize: str = typer.Option("sum", help="sum or mean: the gain over the target's tokens."),
    share: float = typer.Option(
        2 / 3, min=0.0, max=1.0, help="Share of the requests kept; 1 keeps all.", show_default="2/3"
    ),
    positives: int = typer.Option(2, min=1, help="Best candidates of a request that are positives."),
    negatives: int = typer.Option(3, min=1, help="Random negatives of the same user for each of them."),
    seed: int = typer.Option(0, help="Of the negatives."),
    json: str | None = JSON_OPTION,
) -> None:
    """Show which requests pearl train fit learns from, and with which documents (Algorithm 1).

    Nothing is trained on the file: fit selects by itself, with the same options, and draws negatives of its own.
    """
    from training.groups import SelectionOptions, write_groups
    from training.groups import select as select_from

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
