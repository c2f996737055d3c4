"""Options that the commands of ``pearl forensics`` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from eval.recorded.forensics.measures import Resampling

AGAINST_OPTION = Option(
    [], "--against", metavar="MODEL", help="Model that a model is compared with; repeatable, all by default."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResamplingOptions:
    """The options of a command that gives intervals."""

    resamples: Annotated[int, Option(min=100, max=1_000_000, help="Number of bootstrap resamples.")] = 10_000
    seed: Annotated[int, Option(min=0, help="Seed of the bootstrap.")] = 0
    prior: Annotated[
        float, Option(min=0.0, max=1000.0, help="Number of votes of each kind to add before resampling.")
    ] = 1.0

    def resampling(self) -> Resampling:
        from eval.recorded.forensics.measures import Resampling

        return Resampling(self.resamples, self.seed, self.prior)
