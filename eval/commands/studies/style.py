"""``pearl eval style``: judges of style against people, and against themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from eval.commands.options import Overrides, PresetName
from eval.commands.reporting import reporting
from eval.recorded.style.choices import PRESETS, chosen
from eval.report.report import Report
from eval.report.tables import Json, Table

ABOUT = """The judgements are those that pearl judge style-detect and style-rank write. A line of people's ratings:

\b
  {"item": "text 1", "style": "storytelling", "rater": "Ann", "label": "somewhat"}
  {"item": "pair 7", "style": "storytelling", "rater": "Ben", "label": "a_slightly"}

Labels: very, somewhat, not, cant_tell, or present, absent; of two texts a_much, a_slightly, tie, b_slightly, b_much, or
a, b. The file of --ability is an object, {"model": {"score": 0.7, "family": "..."}}, of judges and of writers.

With --prompts system prompts are ranked. For each request, let the generator write with a system prompt meant to steer
it to the styles, and without (`pearl judge style-write --prompt ...`). `pearl judge items --choose targets=prompts`
puts both into an item of `pearl judge style-rank` with all styles that were wanted, and into one for each style alone,
targets=prompts_all only into the first; "prompt_a" (or "prompt_b") names the prompt that steered text a (or b):

\b
  {"id": "1", "task": "email", "style": ["storytelling", "poetic and lyrical"], "request": "What is a prime number?",
   "text_a": "...", "text_b": "...", "prompt_a": "prefer", "generator": "ours"}

Judge them by validation_style (or ab_style), and those with all styles by validation_default (or ab_helpfulness), too.
A text that was steered well is taken when its styles are asked for, and not otherwise: the score is
(all + single + 100 - default) / 3, in percent.

""" + PRESETS.help()
EXAMPLES = """
  pearl eval style --judgements judged.jsonl.gz --human people.jsonl
  pearl eval style --judgements a.jsonl --judgements b.jsonl --human people.jsonl --json - | jq .f1
  pearl eval style --judgements judged.jsonl --human people.jsonl --ability models.json --report style.html
  pearl eval style --judgements styles.jsonl --judgements default.jsonl --prompts
"""


@reporting("eval", "style", page=True, presets=PRESETS)
def style(
    judgements: list[Path] = typer.Option(..., metavar="J.jsonl", help="Recorded judgements; repeatable."),
    human: Path | None = typer.Option(None, metavar="H.jsonl", help="Labels that people gave to the same texts."),
    prompts: bool = typer.Option(
        False, "--prompts", help="Also rank system prompts by how well they steer a generator to wanted styles."
    ),
    ability: Path | None = typer.Option(None, metavar="A.json", help="Scores and families of models."),
    preset: PresetName = "corrected",
    choose: Overrides = None,
) -> Report:
    """Measure how well judges of style agree with people and with themselves, and whose texts they judge best."""
    from eval.judges.style_prompts import prompts_report, prompts_table
    from eval.recorded.style.ability import read_abilities
    from eval.recorded.style.report import style_report
    from eval.recorded.style.tables import more_tables, style_tables

    options = chosen(preset, choose)
    abilities = read_abilities(ability) if ability else {}
    ranked = {"prompts": prompts_report(judgements)} if prompts else {}
    figures = {**style_report(judgements, human, abilities, options), **ranked}

    def tables(result: Json) -> Iterator[Table]:
        yield from style_tables(result)
        if prompts:
            yield prompts_table(result["prompts"])

    return Report(figures, tables, "Judges of style", appendix=more_tables)
