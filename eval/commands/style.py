"""``pearl eval style``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Overrides, PresetName, Resamples, Seed
from eval.commands.reporting import reporting
from eval.recorded.style.choices import PRESETS, chosen
from eval.report.report import Report

ABOUT = """The judgements are those that pearl judge style-detect and style-rank write. A line of people's ratings:

\b
  {"item": "text 1", "style": "storytelling", "rater": "Ann", "label": "somewhat"}
  {"item": "pair 7", "style": "storytelling", "rater": "Ben", "label": "a_slightly"}

Labels: very, somewhat, not, cant_tell, or present, absent; of two texts a_much, a_slightly, tie, b_slightly, b_much, or
a, b. The file of --ability is an object, {"model": {"score": 0.7, "family": "..."}}, of judges and of writers.

""" + PRESETS.help()
EXAMPLES = """
  pearl eval style --judgements judged.jsonl.gz --human people.jsonl
  pearl eval style --judgements a.jsonl --judgements b.jsonl --human people.jsonl --json - | jq .f1
  pearl eval style --judgements judged.jsonl --human people.jsonl --ability models.json --report style.html
"""


@reporting("eval", "style", picture="Draw how far judges and people agree.", page=True, presets=PRESETS)
def style(
    judgements: list[Path] = typer.Option(..., metavar="J.jsonl", help="Recorded judgements; repeatable."),
    human: Path | None = typer.Option(None, metavar="H.jsonl", help="Labels that people gave to the same texts."),
    ability: Path | None = typer.Option(None, metavar="A.json", help="Scores and families of models."),
    preset: PresetName = "corrected",
    choose: Overrides = None,
    resamples: Resamples = 2000,
    seed: Seed = 0,
) -> Report:
    """Measure how well judges of style agree with people and with themselves, and whose texts they judge best."""
    from eval.recorded.style.ability import read_abilities
    from eval.recorded.style.report import style_report
    from eval.recorded.style.tables import more_tables, style_figure, style_tables

    options = chosen(preset, choose, resamples=resamples, seed=seed)
    abilities = read_abilities(ability) if ability else {}
    figures = style_report(judgements, human, abilities, options)
    return Report(figures, style_tables, "Judges of style", style_figure, more_tables)
