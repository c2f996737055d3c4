"""Options that several steps of ``pearl train`` share, as records; ``pearl.options.bundled`` makes flags of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from training.data.selection import SelectionOptions


@dataclass(frozen=True, slots=True)
class AuxiliaryFlags:
    """The model that scores, its prompts and its precision."""

    aux: Annotated[str, Option(help="Auxiliary model: embedded, or a transformers model or folder.")] = "embedded"
    template: Annotated[str, Option(help="Prompts of the auxiliary model: comment, commit, post, or a TOML file.")] = (
        "post"
    )
    dtype: Annotated[str, Option(help="Precision: auto (bfloat16 if it is fast), bfloat16 or float32.")] = "auto"


@dataclass(frozen=True, slots=True)
class SelectionFlags:
    """Algorithm 1's parameters; None for those that are not given."""

    normalize: Annotated[str | None, Option(help="Gain over the target's tokens: sum or mean.", show_default="sum")] = (
        None
    )
    share: Annotated[
        float | None, Option(min=0.0, max=1.0, help="Share of the requests to keep; 1 keeps all.", show_default="2/3")
    ] = None
    positives: Annotated[
        int | None, Option(min=1, help="Best candidates of a request to use as positives.", show_default="2")
    ] = None
    negatives: Annotated[
        int | None, Option(min=1, help="Random negatives of the same user for each positive.", show_default="3")
    ] = None

    def given(self) -> dict[str, str | float | int]:
        """Those that were given, by name."""
        every = {name: getattr(self, name) for name in ("normalize", "share", "positives", "negatives")}
        return {name: value for name, value in every.items() if value is not None}

    def options(self, seed: int) -> SelectionOptions:
        from training.data.selection import SelectionOptions

        return SelectionOptions(seed=seed, **self.given())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class FittingFlags:
    """The models that the two stages are made of, and the time for them."""

    encoder: Annotated[str, Option(help="Dense encoder: embedded, mpnet, or a sentence-transformers model.")] = (
        "embedded"
    )
    base: Annotated[str, Option(help="Model the cross-encoder starts from: embedded, mpnet, or an encoder model.")] = (
        "embedded"
    )
    first_stage_only: Annotated[
        bool, Option("--first-stage-only", help="Train on signals alone, without a cross-encoder.")
    ] = False
    budget_minutes: Annotated[
        float | None,
        Option(min=0.1, help="Stop after about this many minutes and write an artifact from what is done."),
    ] = None


@dataclass(frozen=True, slots=True)
class RunFlags:
    """The device of a run, and its seed."""

    device: Annotated[str, Option(help="Device: cpu or cuda.")] = "cpu"
    seed: Annotated[int, Option(help="Seed of every random choice.")] = 0
