"""``pearl eval retrieval``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.scored import (
    Baselines,
    GainsFiles,
    Models,
    NearDuplicates,
    Resamples,
    Seed,
    baselines_among,
    score_all,
    with_distributions,
)
from pearl.options import ENCODER_OPTION, JSON_OPTION

EXAMPLES = """A line of the gains:

\b
  {"request": "reset the index", "documents": [{"text": "..."}, {"text": "..."}], "gain": [3.1, -0.4]}

and, if known, "user_id", "timestamp", "id" and "target", the text the user really wrote.

Examples:

\b
  pearl eval retrieval --gains gains.jsonl.gz --model embedded --model bm25 --model recent
  pearl eval retrieval --gains gains.jsonl.gz --model work/mine --model bm25 --json -
"""


def retrieval(
    gains: GainsFiles,
    model: Models,
    baseline: Baselines = [],  # noqa: B006  (typer makes a new one)
    k: int = typer.Option(3, "--k", min=1, help="Documents that count for the top-k gain."),
    near_duplicates: NearDuplicates = 0.5,
    encoder: str | None = ENCODER_OPTION,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw the distributions of s1."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure the gain of each model's first documents, with 95% intervals and differences from the best baseline."""
    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from eval.retrieval.pictures import distributions_figure
    from eval.retrieval.report import RetrievalOptions, retrieval_report
    from eval.retrieval.tables import retrieval_tables
    from pearl.settings import load_settings

    outputs = Outputs(json, picture)
    outputs.check()
    models = [*model, *baseline]
    encoder = load_settings(encoder=encoder).encoder  # what a setting says is told, too
    choices = score_all(gains, models, encoder)
    options = RetrievalOptions(k, near_duplicates, resamples, seed)
    result = retrieval_report(choices, baselines_among(models, baseline), options)
    head = Head.of(
        "eval",
        "retrieval",
        gains=gains,
        model=model,
        baseline=baseline,
        k=k,
        near_duplicates=near_duplicates,
        encoder=encoder,
        resamples=resamples,
        seed=seed,
    )
    outputs.write(Report(head, with_distributions(result, choices), retrieval_tables, picture=distributions_figure))
