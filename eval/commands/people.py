"""``pearl eval people``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Seed
from eval.commands.ratings import RATERS_OPTION, names_of
from eval.commands.reporting import reporting
from eval.report.report import Report

ABOUT = """A line of the ratings is what somebody thinks that the person of an item would choose:

\b
  {"item": "p1", "rater": "Ann", "label": "B", "certainty": 70}

A and B are the item's own texts; "tie" is a label, too. The right answers come from the judges' records, whose items
have the same ids, or from a "ground_truth" in each rating."""
EXAMPLES = """
  pearl judge personalized --items people.jsonl --llm openai --records judged.jsonl
  pearl eval people --ratings ratings.jsonl --records judged.jsonl --raters Ann,Ben
  pearl eval people --ratings ratings.jsonl --records judged.jsonl --threshold 70 --json - | jq .agreement
"""


@reporting("eval", "people")
def people(
    ratings: Path = typer.Option(..., metavar="R.jsonl", help="Ratings by people, a line each."),
    records: list[Path] = typer.Option([], metavar="F.jsonl", help="Records of a judge on the same items; repeatable."),
    raters: str | None = RATERS_OPTION,
    threshold: float = typer.Option(80.0, min=1, max=100, help="Certainty from which on somebody counts as certain."),
    seed: Seed = 0,
) -> Report:
    """Compare judges with people who say what somebody else would choose: their majority, certainty and agreement."""
    from eval.recorded.people_study import read_person_ratings, study_report, study_tables

    figures = study_report(read_person_ratings(ratings, names_of(raters)), records, threshold, seed)
    return Report(figures, study_tables)
