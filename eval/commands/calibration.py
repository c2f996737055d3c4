"""``pearl eval calibration``"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from eval.commands.scored import ScoringOptions, report_scores
from pearl.options import JSON_OPTION, bundled

EXAMPLES = """Examples:

\b
  pearl eval calibration --gains gains.jsonl.gz --model embedded --model bm25 --picture reliability.svg
  pearl eval calibration --gains gains.jsonl.gz --model work/mine --baseline work/plain-kl --json -
"""


@bundled
def calibration(
    options: ScoringOptions,
    bins: int = typer.Option(10, min=3, help="Number of bins, each with as many requests."),
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw reliability and the distributions of s1."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how well a request's best score s1 predicts how much the chosen document helps."""
    from eval.report.report import Outputs
    from eval.retrieval.calibration import CalibrationOptions, calibration_report
    from eval.retrieval.pictures import reliability_figure
    from eval.retrieval.tables import calibration_tables

    aside, resamples, seed = options.near_duplicates, options.resamples, options.seed
    chosen = CalibrationOptions(bins=bins, near_duplicates=aside, resamples=resamples, seed=seed)
    figures = partial(calibration_report, options=chosen)
    shape = figures, calibration_tables, reliability_figure
    report_scores("calibration", options, Outputs(json, picture), shape, bins=bins)
