"""``pearl eval agreement``: agreement between raters beyond chance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from eval.commands.ratings import RATERS_OPTION, names_of
from eval.commands.reporting import reporting
from eval.report.report import Report
from eval.report.tables import Json, Table, missing_words, rows_tables
from eval.stats.agreement import TITLES, agreement_report

ABOUT = """The file is CSV, a rating a line, or JSON Lines (.jsonl) with these fields, as the pages of `pearl
ratings` save them; others are passed over:

\b
  item,rater,label
  text 1,Ann,A
  text 1,Ben,tie

An empty label, NA, N/A, NaN, null or a full stop says that there is no rating: it is left out and counted as missing,
unless --labels names it. Labels that are numbers have alphas for ordinal and interval scales too. Randolph's kappa
depends on the labels that could be given: name them all with --labels if some were not."""
EXAMPLES = """
  pearl eval agreement --ratings ratings.csv
  pearl eval agreement --ratings ratings.csv --labels A,B,tie --json - | jq .coefficients
  pearl eval agreement --ratings ratings.csv --report agreement.html
"""


@reporting("eval", "agreement", page=True)
def agreement(
    ratings: Path = typer.Option(..., metavar="F", help="Ratings: columns, or fields, item, rater and label."),
    labels: str | None = typer.Option(
        None, metavar="A,B", help="Every label a rater could give; by default those in the file."
    ),
    raters: str | None = RATERS_OPTION,
) -> Report:
    """Measure how far raters agree beyond chance: kappas and alphas, each with its interval, or why it is undefined."""
    from eval.stats.ratings import read_ratings

    answers = read_ratings(ratings, names_of(labels), names_of(raters))
    figures = agreement_report(answers)
    held = {"labels": labels or None}
    return Report({"file": str(ratings), **figures}, agreement_tables, "Agreement", options=held)


def agreement_tables(result: Json) -> Iterator[Table]:
    caption = (
        f"{result['n']:,} ratings of {result['items']:,} items by {len(result['raters'])} raters"
        f"{missing_words(result['missing'])}; 95% intervals by bootstrap over items; bands of Landis and Koch."
    )
    rows = [
        {
            "coefficient": title,
            "value": result["coefficients"][name],
            "band": result["bands"].get(name) or result["undefined"].get(name),
            "items": result["items_used"][name],
        }
        for name, title in TITLES.items()
    ]
    yield Table.plain(caption, rows, result["command"])
    fields = "rater against items agreement cohen_kappa band reason"
    yield from rows_tables(result, {"pairs": ("Pair by pair.", fields)})
