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
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="Scored history; repeatable."),
    work: Path = typer.Option(..., metavar="FOLDER", help="Folder in which pearl train retriever left the scores."),
    out: Path = typer.Option(..., metavar="MODEL", help="Folder of the artifact."),
    loss: str = typer.Option("calibrated", help="Loss: calibrated, or an ablation (kl, distill, relevance)."),
    encoder: str = typer.Option("embedded", help="Dense encoder: embedded, or a sentence-transformers model."),
    base: str = typer.Option("embedded", help="Model the cross-encoder starts from: embedded, or an encoder model."),
    normalize: str = typer.Option("sum", help="Gain over the target's tokens: sum or mean."),
    share: float = typer.Option(
        2 / 3, min=0.0, max=1.0, help="Share of the requests to learn from; 1 keeps all.", show_default="2/3"
    ),
    positives: int = typer.Option(2, min=1, help="Best candidates of a request to use as positives."),
    negatives: int = typer.Option(3, min=1, help="Random negatives of the same user for each positive."),
    first_stage_only: bool = typer.Option(
        False, "--first-stage-only", help="Train on signals alone, without a cross-encoder."
    ),
    keep_cross_encoder: bool = typer.Option(
        False, "--keep-cross-encoder", help="Keep the cross-encoder even if dev is no better for it."
    ),
    budget_minutes: float | None = typer.Option(
        None, min=0.1, help="Stop after about this many minutes and write an artifact from what is done."
    ),
    device: str = typer.Option("cpu", help="Device: cpu or cuda."),
    seed: int = typer.Option(0, help="Seed of every random choice."),
) -> None:
    """Fit a retriever on existing scores, with another loss, on fewer histories, or without a cross-encoder.

    With --share, --positives and --negatives it learns from other groups (Algorithm 1); pearl train select counts
    them.
    """
    from rich.console import Console

    from training.options import LOSSES, TrainingOptions
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
