"""``pearl eval calibration``"""

from __future__ import annotations

from functools import partial

import typer

from eval.commands.reporting import reporting
from eval.commands.scored import ScoringOptions, report_scores
from eval.report.report import Report

EXAMPLES = """
  pearl eval calibration --gains gains.jsonl.gz --model embedded --model bm25 --picture reliability.svg
  pearl eval calibration --gains gains.jsonl.gz --model work/mine --baseline work/plain-kl --json -
"""


@reporting("eval", "calibration", picture="Draw reliability and the distributions of s1.")
def calibration(
    options: ScoringOptions,
    bins: int = typer.Option(10, min=3, help="Number of bins, each with as many requests."),
) -> Report:
    """Measure how well a request's best score s1 predicts how much the chosen document helps."""
    from eval.retrieval.calibration import CalibrationOptions, calibration_report
    from eval.retrieval.tables import calibration_tables, reliability_figure

    aside, resamples, seed = options.near_duplicates, options.resamples, options.seed
    chosen = CalibrationOptions(bins=bins, near_duplicates=aside, resamples=resamples, seed=seed)
    figures = partial(calibration_report, options=chosen)
    return report_scores("calibration", options, figures, calibration_tables, reliability_figure, bins=bins)
