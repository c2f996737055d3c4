"""``pearl forensics compare``"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from eval.commands.reporting import reporting
from eval.recorded.forensics.comparison import ColumnOptions, PairFiles
from eval.recorded.forensics.measures import Resampling
from eval.report.report import Report

ABOUT = """A column for each file, reference, model (--models) and value of a field of the pairs' metadata (--by)."""
EXAMPLES = """
  pearl forensics compare --pairs arena.json --pairs prism.json --reference human
  pearl forensics compare --pairs arena.json --reference expert --reference crowd --latex table.tex
  pearl forensics compare --pairs models.json --models --against gpt --json -
  pearl forensics compare --pairs arena.json --reference human --by topic --csv topics.csv
"""


@reporting("forensics", "compare", writes=("csv", "latex"))
def compare(
    pairs: PairFiles,
    columns: ColumnOptions,
    bootstrap: Resampling,
    figure: str = typer.Option(
        "strength",
        help="Figure to show: strength, relevance, agreement (of those that choose), agreement_of_all, kappa or "
        "kappa_randomized.",
    ),
    top: int = typer.Option(5, min=0, help="Number of strongest and weakest annotators of a column to list."),
    csv: Path | None = typer.Option(None, metavar="FILE", help="Write the table as CSV."),
    latex: Path | None = typer.Option(None, metavar="FILE", help="Write the table as LaTeX (booktabs)."),
) -> Report:
    """Show data sets, people or models side by side, trait by trait, with their differences."""
    from eval.recorded.forensics.comparison import compare_files
    from eval.recorded.forensics.tables import FIGURES, comparison_tables, csv_of, latex_of
    from pearl.cli.options import known, write_text

    known("figure", figure, FIGURES)
    figures = compare_files(pairs, columns, bootstrap)
    for option, target, text_of in (("--csv", csv, csv_of), ("--latex", latex, latex_of)):
        if target:
            write_text(option, target, text_of(figures, figure))
    return Report(figures, partial(comparison_tables, figure, top), options={"figure": None, "top": None})
