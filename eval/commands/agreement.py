"""``pearl eval agreement``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.ratings import RATERS_OPTION, named
from eval.commands.scored import Resamples, Seed
from pearl.options import JSON_OPTION

EXAMPLES = """The file is CSV, a rating a line, or JSON Lines (.jsonl) with these fields, as the pages of `pearl
ratings` save them; others are passed over:

\b
  item,rater,label
  text 1,Ann,A
  text 1,Ben,tie

Labels that are numbers have alphas for ordinal and interval scales too. Randolph's kappa depends on the labels that
could be given: name them all with --labels if some were not.

Examples:

\b
  pearl eval agreement --ratings ratings.csv
  pearl eval agreement --ratings ratings.csv --labels A,B,tie --json - | jq .coefficients
  pearl eval agreement --ratings ratings.csv --picture agreement.svg --report agreement.html
"""


def agreement(
    ratings: Path = typer.Option(
        ..., "--ratings", metavar="F", help="Ratings: columns, or fields, item, rater and label."
    ),
    labels: str | None = typer.Option(
        None, "--labels", metavar="A,B", help="Every label a rater could give; by default those in the file."
    ),
    raters: str | None = RATERS_OPTION,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw the pairs of raters."),
    report: Path | None = typer.Option(None, metavar="FILE.html", help="Write everything as one page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how far raters agree beyond chance: kappas and alphas, each with its interval, or why it is undefined."""
    from eval.report.agreement import agreement_tables
    from eval.report.head import Head
    from eval.report.pictures import agreement_figure
    from eval.report.report import Outputs, Report
    from eval.stats.agreement import AgreementOptions, agreement_report
    from eval.stats.ratings import read_ratings

    outputs = Outputs(json, picture, report)
    outputs.check()
    offered = named(labels)
    head = Head.of(
        "eval",
        "agreement",
        ratings=ratings,
        labels=labels or None,
        raters=raters,
        resamples=resamples,
        seed=seed,
    )
    found = agreement_report(read_ratings(ratings, offered, named(raters)), AgreementOptions(resamples, seed))
    figures = {"file": str(ratings), **found}
    outputs.write(Report(head, figures, agreement_tables, "Agreement", agreement_figure))
