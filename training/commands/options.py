"""Options that several steps of ``pearl train`` share, as records; ``bundled`` makes flags of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from training.choices import CORRECTED, MOST_SEED, default_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from pearl.records import Document

PRESET_OPTION = Option(
    CORRECTED,
    "--preset",
    help="Choices to begin with: corrected, or as_published, the paper's; --choose overrides them.",
)
CHOOSE_OPTION = Option(
    [], "--choose", metavar="NAME=VALUE", help="Override a choice of the preset, see below; repeatable."
)


@dataclass(frozen=True, slots=True)
class AuxiliaryFlags:
    """The model that scores, None for the preset's, its prompts and its precision."""

    aux: Annotated[
        str | None,
        Option(
            help="Auxiliary model: embedded, or a transformers model or folder, such as google/flan-t5-xl.",
            show_default=default_of("aux"),
        ),
    ] = None
    template: Annotated[str, Option(help="Prompts of the auxiliary model: comment, commit, post, or a TOML file.")] = (
        "post"
    )
    dtype: Annotated[str, Option(help="Precision: auto (the faster one), bfloat16 or float32.")] = "auto"


@dataclass(frozen=True, slots=True)
class FittingFlags:
    """The encoder, whether a cross-encoder comes beside it, and the time for it all."""

    encoder: Annotated[str, Option(help="Dense encoder: embedded, mpnet, or a sentence-transformers model.")] = (
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
class DraftFlags:
    """The drafts that margin and theta are chosen on."""

    llm: Annotated[str | None, Option(help="Model whose drafts set margin and theta: embedded, openai or auto.")] = None
    metric: Annotated[str, Option(help="Metric that both are to raise: rouge1, rouge2, bertscore or macro_f1.")] = (
        "rouge2"
    )


@dataclass(frozen=True, slots=True)
class RunFlags:
    """The device of a run, and its seed."""

    device: Annotated[str, Option(help="Device: cpu or cuda.")] = "cpu"
    seed: Annotated[int, Option(min=0, max=MOST_SEED, help="Seed of every random choice.")] = 0


def explain_split(
    histories: Mapping[str, Sequence[Document]], split: str | None, way: str, seed: int, console: Console
) -> None:
    """Say where a split lies if it is not one by users, and how targets are chosen where documents have no time."""
    from pearl.history.split import users_of
    from training.data.histories import untimed_users
    from training.data.split import BY_TIME, BY_USERS, PARTS

    if way == BY_TIME and split is not None:
        part = PARTS[split]
        console.print(
            f"Too few users for a split by users ({len(histories):,}): '{split}' are the texts between "
            f"{part.first:.0%} and {part.last:.0%} of each history.",
            soft_wrap=True,
            highlight=False,
        )
    if untimed := untimed_users(users_of(histories, split) if way == BY_USERS else histories):
        console.print(
            f"{len(untimed):,} users have a document without a timestamp ('{untimed[0]}' is one): which of their texts "
            f"are targets and which candidates is chosen at random, by seed {seed}.",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )
