"""``pearl eval agreement``"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from eval.commands.ratings import RATERS_OPTION, names_of
from eval.commands.reporting import reporting
from eval.report.report import Report
from eval.report.tables import Columns, Json, Table, interval, missing_words, shown
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
  pearl eval agreement --ratings ratings.csv --picture agreement.svg --report agreement.html
"""


@reporting("eval", "agreement", picture="Draw the pairs of raters.", page=True)
def agreement(
    ratings: Path = typer.Option(..., metavar="F", help="Ratings: columns, or fields, item, rater and label."),
    labels: str | None = typer.Option(
        None, metavar="A,B", help="Every label a rater could give; by default those in the file."
    ),
    raters: str | None = RATERS_OPTION,
) -> Report:
    """Measure how far raters agree beyond chance: kappas and alphas, each with its interval, or why it is undefined."""
    from eval.report.pictures import agreement_figure
    from eval.stats.ratings import read_ratings

    answers = read_ratings(ratings, names_of(labels), names_of(raters))
    figures = agreement_report(answers)
    held = {"labels": labels or None}
    return Report({"file": str(ratings), **figures}, agreement_tables, "Agreement", agreement_figure, options=held)


def agreement_tables(result: Json) -> Iterator[Table]:
    rows = tuple(
        (
            title,
            shown(result["coefficients"][name], 3),
            result["bands"].get(name) or result["undefined"].get(name, ""),
            str(result["items_used"][name]),
        )
        for name, title in TITLES.items()
    )
    caption = (
        f"{result['n']:,} ratings of {result['items']:,} items by {len(result['raters'])} raters"
        f"{missing_words(result['missing'])}; 95% intervals by bootstrap over items; bands of Landis and Koch."
    )
    yield Table(caption, ("coefficient", "value", "band", "items"), rows, result["command"])
    if result["pairs"]:
        columns: Columns = {
            "raters": lambda pair: f"{pair['rater']}, {pair['against']}",
            "items": lambda pair: str(pair["items"]),
            "raw agreement": "agreement",
            "Cohen's kappa": interval("cohen_kappa"),
            "band": lambda pair: pair["band"] or pair["reason"] or "",
        }
        yield Table.of("Pair by pair.", result["pairs"], columns)
