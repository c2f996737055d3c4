"""``pearl eval agreement``"""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from eval.commands.scored import Resamples, Seed, write_or_show
from pearl.options import JSON_OPTION, check_writable

EXAMPLES = """The file is CSV, a rating a line; other columns are passed over:

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
    ratings: Path = typer.Option(..., "--ratings", metavar="F.csv", help="Ratings: columns item, rater and label."),
    labels: str | None = typer.Option(
        None, "--labels", metavar="A,B", help="Every label a rater could give; by default those in the file."
    ),
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw the pairs of raters."),
    report: Path | None = typer.Option(None, metavar="FILE.html", help="Write everything as one page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how far raters agree beyond chance: kappas and alphas, each with its interval, or why it is undefined."""
    from eval.report.agreement import agreement_tables
    from eval.report.page import write_page
    from eval.report.pictures import agreement_figure, check_format, draw, svg
    from eval.stats.agreement import AgreementOptions, agreement_report
    from eval.stats.ratings import read_ratings
    from pearl import __version__

    check_format(picture)
    for option, target in (("--picture", picture), ("--report", report), ("--json", json)):
        check_writable(option, target)
    offered = [label.strip() for label in labels.split(",") if label.strip()] if labels else []
    words = ["pearl", "eval", "agreement", "--ratings", str(ratings), *(["--labels", labels] if labels else [])]
    words += ["--resamples", str(resamples), "--seed", str(seed)]
    made_by = {"command": shlex.join(words), "version": __version__, "file": str(ratings)}
    result = made_by | agreement_report(read_ratings(ratings, offered), AgreementOptions(resamples, seed))
    if picture:
        draw(agreement_figure, result, picture)
    if report:
        write_page(report, "Agreement", result["command"], [svg(agreement_figure, result)], agreement_tables(result))
    write_or_show(json, result, agreement_tables)
