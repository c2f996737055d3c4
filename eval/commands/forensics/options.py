"""Options that the commands of ``pearl forensics`` share."""

from __future__ import annotations

from typing import Annotated

from typer import Option

AGAINST_OPTION = Option(
    [], "--against", metavar="MODEL", help="Model that a model is compared with; repeatable, all by default."
)
Resamples = Annotated[int, Option("--resamples", min=100, max=1_000_000, help="Number of bootstrap resamples.")]
Seed = Annotated[int, Option("--seed", min=0, help="Seed of the bootstrap.")]
PriorVotes = Annotated[
    float,
    Option("--prior", min=0.0, max=1000.0, help="Votes of each kind to add before resampling."),
]
