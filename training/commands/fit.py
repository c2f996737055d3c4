"""``pearl train fit``"""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.options import known

EXAMPLES = """Examples:

\b
  pearl train fit --history a.jsonl.gz --history b.jsonl.gz --work MODEL.work --loss kl --out work/plain-kl
  pearl train fit --history a.jsonl.gz --work MODEL.work --first-stage-only --out work/a-alone
"""


def fit(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="A history that was scored; may be repeated."),
    work: Path = typer.Option(..., metavar="FOLDER", help="Where pearl train retriever left the scores."),
    out: Path = typer.Option(..., metavar="MODEL", help="The artifact's folder."),
    loss: str = typer.Option("calibrated", help="calibrated, or an ablation: kl, distill, relevance."),
    encoder: str = typer.Option("embedded", help="The dense encoder: embedded, or a model of sentence-transformers."),
    base: str = typer.Option("embedded", help="What the cross-encoder starts from: embedded, or an encoder model."),
    normalize: str = typer.Option("sum", help="sum or mean: the gain over the target's tokens."),
    share: float = typer.Option(
        2 / 3, min=0.0, max=1.0, help="Share of the requests learned from; 1 keeps all.", show_default="2/3"
    ),
    positives: int = typer.Option(2, min=1, help="Best candidates of a request that are positives."),
    negatives: int = typer.Option(3, min=1, help="Random negatives of the same user for each of them."),
    first_stage_only: bool = typer.Option(False, "--first-stage-only", help="No cross-encoder: signals alone."),
    keep_cross_encoder: bool = typer.Option(
        False, "--keep-cross-encoder", help="Keep the cross-encoder even where dev would do without it."
    ),
    budget_minutes: float | None = typer.Option(None, min=0.1, help="Ship what is there after about this long."),
    device: str = typer.Option("cpu", help="cpu or cuda."),
    seed: int = typer.Option(0, help="Of every random choice."),
) -> None:
    """Fit a retriever on scores that are there, with another loss, on fewer histories, or without a cross-encoder.

    With --share, --positives and --negatives it learns from other groups (Algorithm 1); pearl train select shows how
    many these are.
    """
    from rich.console import Console

    from training.first_stage import LOSSES
    from training.options import TrainingOptions
    from training.recipe import fit_retriever

    known("loss", loss, LOSSES)
    console = Console(stderr=True)
    options = TrainingOptions(
        histories=tuple(history),
        out=out,
        work=work,
        encoder=encoder,
        base=base,
        normalize=normalize,
        loss=loss,
        share=share,
        positives=positives,
        negatives=negatives,
        first_stage_only=first_stage_only,
        keep_cross_encoder=keep_cross_encoder,
        budget_minutes=budget_minutes,
        device=device,
        seed=seed,
    )
    console.print(fit_retriever(options, console).inherited(), highlight=False, soft_wrap=True)
