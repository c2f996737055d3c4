"""The options that all judges share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RepliesFile = Annotated[
    Path | None,
    typer.Option("--replies", metavar="FILE.sqlite", help="File that keeps raw replies; in PEARL_HOME by default."),
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Use stored replies only; make no calls, and fail if one is missing.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Count the questions and estimate their highest cost; make no calls.")
]
PriceIn = Annotated[float | None, typer.Option("--price-in", min=0, help="Price of a million prompt tokens.")]
PriceOut = Annotated[float | None, typer.Option("--price-out", min=0, help="Price of a million completion tokens.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before this run costs more than this.")]
Temperature = Annotated[
    float, typer.Option("--temperature", min=0, max=2, help="Temperature of the judge; at 0, runs are copies.")
]
MaxTokens = Annotated[
    int, typer.Option("--max-tokens", min=1, help="Tokens in a reply at most; a reply cut off there is invalid.")
]
Ability = Annotated[
    Path | None,
    typer.Option(
        "--ability", metavar="A.json", help="Families of models, to report on texts by the judge's own family."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Judge a random sample of this many items.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the sample, random orders and bootstrap.")]
