"""``pearl eval personalized``: how often a judge chooses as people do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from eval.commands.options import Overrides, PresetName
from eval.commands.ratings import RATERS_OPTION, names_of
from eval.commands.reporting import reporting
from eval.recorded.personalized.presets import PRESETS
from eval.report.report import Report
from eval.report.tables import Json, Table
from pearl.errors import InputError

ABOUT = """A line of the records is a judge's reply to one question about one person:

\b
  {"ground_truth": "B", "answer": "A", "certainty": "75", "res": "[[A]] [[75]]", "prompt": "...", "user_info": "..."}

"ground_truth" (C is a tie) and "answer" or "res" are required.

A line of --ratings is what somebody thinks that the person of an item would choose:

\b
  {"item": "p1", "rater": "Ann", "label": "B", "certainty": 70}

A and B are the item's own texts; "tie" is a label, too. The right answers come from the records, whose items have the
same ids, or from a "ground_truth" in each rating.

""" + PRESETS.help()
EXAMPLES = """
  pearl eval personalized --records gpt.jsonl.gz --records llama.jsonl.gz --threshold 80
  pearl eval personalized --records judge.jsonl --preset corrected --json - | jq '.files[0].preflight'
  pearl eval personalized --records judge.jsonl --picture certainty.svg --report judge.html
  pearl eval personalized --records judge.jsonl --ratings ratings.jsonl --raters Ann,Ben --json - | jq .people
"""


@reporting(
    *("eval", "personalized"),
    picture="Draw certainty, and how often it is right.",
    page=True,
    presets=PRESETS,
)
def personalized(
    records: list[Path] = typer.Option([], metavar="F.jsonl", help="Records of a judge; repeatable."),
    ratings: Path | None = typer.Option(
        None, metavar="R.jsonl", help="Ratings by people who say what somebody else would choose, beside the judges."
    ),
    raters: str | None = RATERS_OPTION,
    threshold: float = typer.Option(80.0, min=1, max=100, help="Minimum certainty that counts as high."),
    preset: PresetName = "recorded",
    choose: Overrides = None,
) -> Report:
    """Measure how often a judge chooses as people do, whether it knows when, and what is wrong with the data.

    With --ratings also people: their majority, certainty and agreement, beside the judges on the same items.
    """
    from eval.recorded.people_study import read_person_ratings, study_report, study_tables
    from eval.recorded.personalized.report import PersonalizedOptions, personalized_report
    from eval.recorded.personalized.tables import personalized_figure, personalized_tables, sweep_tables

    chosen = PRESETS.chosen(preset, choose)
    options = PersonalizedOptions(threshold, preset, **chosen)
    if ratings is None and (raters or not records):
        raise InputError("Give --records, or --ratings with or without --raters, or both.")
    figures = personalized_report(records, options)
    if ratings is not None:
        figures["people"] = study_report(read_person_ratings(ratings, names_of(raters)), records, threshold)

    def tables(result: Json) -> Iterator[Table]:
        if result["files"]:
            yield from personalized_tables(result)
        if "people" in result:
            yield from study_tables(result["people"] | {"command": result["command"]})

    return Report(figures, tables, "A personalized judge", personalized_figure, sweep_tables)
