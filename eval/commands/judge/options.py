"""The options that all judges share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RepliesFile = Annotated[
    Path | None,
    typer.Option("--replies", metavar="FILE.sqlite", help="Where raw replies are kept; in PEARL_HOME by default."),
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Only kept replies, without a call; one that lacks is an error.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what there is to ask, and what it costs at most.")]
PriceIn = Annotated[float | None, typer.Option("--price-in", min=0, help="Money per million prompt tokens.")]
PriceOut = Annotated[float | None, typer.Option("--price-out", min=0, help="Money per million completion tokens.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before this run costs more.")]
Temperature = Annotated[float, typer.Option("--temperature", min=0, max=2, help="Of the judge; at 0 runs are copies.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=1, help="Longest reply; one that is cut off is invalid.")]
Ability = Annotated[
    Path | None,
    typer.Option("--ability", metavar="A.json", help="Families of models, for what the judge's own family wrote."),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="A random sample of so many.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of the sample, of random orders and of the bootstrap.")]
