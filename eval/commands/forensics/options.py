"""Options that the commands of ``pearl forensics`` share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from eval.recorded.forensics.comparison import ColumnOptions
    from eval.recorded.forensics.measures import Resampling

Against = Annotated[
    list[str], Option(metavar="MODEL", help="Model that a model is compared with; repeatable, all by default.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFlags:
    """The options that say what is shown side by side."""

    pairs: Annotated[list[Path], Option(metavar="PAIRS", help="Annotated pairs; repeatable.")]
    reference: Annotated[
        list[str], Option(metavar="NAME", help="Annotator by name or id, or 'model: NAME'; repeatable.")
    ] = field(default_factory=list)
    models: Annotated[bool, Option("--models", help="Add a column for each model.")] = False
    against: Against = field(default_factory=list)
    by: Annotated[str | None, Option(metavar="FIELD", help="Split by this field of the metadata.")] = None

    def options(self, resampling: Resampling) -> ColumnOptions:
        from eval.recorded.forensics.comparison import ColumnOptions

        return ColumnOptions(self.reference, self.models, self.against, self.by, resampling)


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
