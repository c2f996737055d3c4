"""``pearl eval calibration``"""

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

EXAMPLES = """Examples:

\b
  pearl eval calibration --gains gains.jsonl.gz --model embedded --model bm25 --picture reliability.svg
  pearl eval calibration --gains gains.jsonl.gz --model work/mine --baseline work/plain-kl --json -
"""


def calibration(
    gains: GainsFiles,
    model: Models,
    baseline: Baselines = [],  # noqa: B006  (typer makes a new one)
    bins: int = typer.Option(10, "--bins", min=3, help="Number of bins, each with as many requests."),
    near_duplicates: NearDuplicates = 0.5,
    encoder: str | None = ENCODER_OPTION,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw reliability and the distributions of s1."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how well a request's best score s1 predicts how much the chosen document helps."""
    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from eval.retrieval.calibration import CalibrationOptions, calibration_report
    from eval.retrieval.pictures import reliability_figure
    from eval.retrieval.tables import calibration_tables
    from pearl.settings import load_settings

    outputs = Outputs(json, picture)
    outputs.check()
    models = [*model, *baseline]
    encoder = load_settings(encoder=encoder).encoder  # what a setting says is told, too
    choices = score_all(gains, models, encoder)
    options = CalibrationOptions(bins=bins, near_duplicates=near_duplicates, resamples=resamples, seed=seed)
    result = calibration_report(choices, baselines_among(models, baseline), options)
    head = Head.of(
        "eval",
        "calibration",
        gains=gains,
        model=model,
        baseline=baseline,
        bins=bins,
        near_duplicates=near_duplicates,
        encoder=encoder,
        resamples=resamples,
        seed=seed,
    )
    outputs.write(Report(head, with_distributions(result, choices), calibration_tables, picture=reliability_figure))
