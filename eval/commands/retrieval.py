"""``pearl eval retrieval``"""

from __future__ import annotations

from functools import partial

import typer

from eval.commands.reporting import reporting
from eval.commands.scored import ScoringOptions, report_scores
from eval.report.report import Report

ABOUT = """A line of the gains:

\b
  {"request": "reset the index", "documents": [{"text": "..."}, {"text": "..."}], "gain": [3.1, -0.4]}

and, if known, "user_id", "timestamp", "id" and "target", the text the user really wrote."""
EXAMPLES = """
  pearl eval retrieval --gains gains.jsonl.gz --model embedded --model bm25 --model recent
  pearl eval retrieval --gains gains.jsonl.gz --model work/mine --model bm25 --json -
"""


@reporting("eval", "retrieval", picture="Draw the distributions of s1.")
def retrieval(
    options: ScoringOptions,
    k: int = typer.Option(3, min=1, help="Documents that count for the top-k gain."),
) -> Report:
    """Measure the gain of each model's first documents, with 95% intervals and differences from the best baseline."""
    from eval.retrieval.report import RetrievalOptions, retrieval_report
    from eval.retrieval.tables import distributions_figure, retrieval_tables

    chosen = RetrievalOptions(k, options.near_duplicates, options.resamples, options.seed)
    figures = partial(retrieval_report, options=chosen)
    return report_scores("retrieval", options, figures, retrieval_tables, distributions_figure, k=k)
