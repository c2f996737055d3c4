"""``pearl eval personalized``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Overrides, PresetName, Resamples, Seed
from eval.commands.reporting import reporting
from eval.recorded.personalized.presets import PRESETS
from eval.report.report import Report

ABOUT = """A line of the records is a judge's reply to one question about one person:

\b
  {"ground_truth": "B", "answer": "A", "certainty": "75", "res": "[[A]] [[75]]", "prompt": "...", "user_info": "..."}

"ground_truth" (C is a tie) and "answer" or "res" are required.

""" + PRESETS.help()
EXAMPLES = """
  pearl eval personalized --records gpt.jsonl.gz --records llama.jsonl.gz --threshold 80
  pearl eval personalized --records judge.jsonl --preset corrected --json - | jq '.files[0].preflight'
  pearl eval personalized --records judge.jsonl --picture certainty.svg --report judge.html
"""


@reporting(
    *("eval", "personalized"),
    picture="Draw certainty, reliability, risk and coverage.",
    page=True,
    presets=PRESETS,
)
def personalized(
    records: list[Path] = typer.Option(..., metavar="F.jsonl", help="Records of a judge; repeatable."),
    threshold: float = typer.Option(80.0, min=1, max=100, help="Certainty from which on a judge counts as certain."),
    preset: PresetName = "recorded",
    choose: Overrides = None,
    resamples: Resamples = 2000,
    seed: Seed = 0,
) -> Report:
    """Measure how often a judge chooses as people do, whether it knows when, and what is wrong with the data."""
    from eval.recorded.personalized.report import PersonalizedOptions, personalized_report
    from eval.recorded.personalized.tables import personalized_figure, personalized_tables, sweep_tables

    chosen = PRESETS.chosen(preset, choose)
    options = PersonalizedOptions(threshold, preset, **chosen, resamples=resamples, seed=seed)
    figures = personalized_report(records, options)
    return Report(figures, personalized_tables, "A personalized judge", personalized_figure, sweep_tables)
